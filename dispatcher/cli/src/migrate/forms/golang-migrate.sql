-- The outbox, from schema version {{from}} to {{to}}, for golang-migrate: migrations/{{time}}_outbox_{{to}}.up.sql
--
-- On MySQL and MariaDB its URL needs multiStatements=true. It touches what its files name, so there is nothing to set; only
-- `migrate drop` would drop these tables, the messages that have not been sent too. There is no .down.sql for the same reason.

{{statements}}
