-- The outbox, from schema version {{from}} to {{to}}, for Flyway: src/main/resources/db/migration/V{{time}}__outbox_{{to}}.sql
--
-- Flyway touches what its files name, so there is nothing to set. Only `flyway clean` would drop these tables, the messages
-- that have not been sent too: flyway.cleanDisabled=true is the default.

{{statements}}
