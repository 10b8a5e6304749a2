-- Nobody who writes through the view names an id: one ahead of the sequence would refuse the messages of others later.
-- RETURNING gives the id.

CREATE OR REPLACE VIEW outbox_new AS
    SELECT id + 0 AS id, idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, available_at,
           expires_at, traceparent, tracestate, created_at, tenant, tags
    FROM outbox WHERE false;

UPDATE outbox_meta SET schema_version = 14, serves_from = 2;
