-- The least rights on PostgreSQL, for the role that writes messages and the role of `outbox run`. As the owner of the
-- tables, after each `outbox migrate`:
--   psql -v schema=public -v application=shop -v dispatcher=outbox -v ON_ERROR_STOP=1 -f postgres.sql DATABASE
-- where schema is the schema of the tables (database.schema, else mostly public), and the other two are roles that
-- exist. Neither needs to own the tables: those are made by whoever runs `outbox migrate`.

-- An application inserts. The two columns are what RETURNING and ON CONFLICT need; payloads stay unread.
GRANT USAGE ON SCHEMA :"schema" TO :"application";
GRANT INSERT, SELECT (id, idempotency_key) ON :"schema".outbox TO :"application";
-- For databases where PUBLIC may not execute new functions: what the columns' defaults call.
GRANT EXECUTE ON FUNCTION :"schema".outbox_new_key, :"schema".outbox_destination_of, :"schema".outbox_dead_at,
    :"schema".outbox_fingerprint_of TO :"application";
-- Where the schema is not in the application's search_path:
--   ALTER ROLE shop SET search_path = "$user", public, dispatcher;

-- The dispatcher claims, marks and settles, and removes what is past its retention; it enqueues for `outbox enqueue`. It
-- deletes no audit, and no target that is known to be gone.
GRANT USAGE ON SCHEMA :"schema" TO :"dispatcher";
GRANT SELECT, INSERT, UPDATE ON :"schema".outbox_term, :"schema".outbox_destination, :"schema".outbox_invalid_target
    TO :"dispatcher";
GRANT SELECT, INSERT, UPDATE, DELETE ON
    :"schema".outbox, :"schema".outbox_term_log, :"schema".outbox_claim, :"schema".outbox_lease
    TO :"dispatcher";
GRANT SELECT, INSERT, DELETE ON :"schema".outbox_attempt TO :"dispatcher";
GRANT SELECT, INSERT ON :"schema".outbox_audit TO :"dispatcher";
GRANT SELECT ON :"schema".outbox_meta TO :"dispatcher";
GRANT EXECUTE ON FUNCTION
    :"schema".outbox_new_key, :"schema".outbox_destination_of, :"schema".outbox_dead_at, :"schema".outbox_fingerprint_of,
    :"schema".outbox_begin_term, :"schema".outbox_require_term,
    :"schema".outbox_ordered_heads, :"schema".outbox_cancelling, :"schema".outbox_claimed, :"schema".outbox_claim_due,
    :"schema".outbox_mark, :"schema".outbox_mark_delivered, :"schema".outbox_settle
    TO :"dispatcher";
