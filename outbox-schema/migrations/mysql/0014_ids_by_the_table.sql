-- Nobody who writes through the view names an id: the highest one would end all inserts. MariaDB's INSERT ... RETURNING asks for the
-- right to write it. The condition is looked at before the table gives the id, which is 0 until then.

CREATE OR REPLACE SQL SECURITY DEFINER VIEW outbox_new AS
    SELECT id, idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, traceparent,
           tracestate, tenant, tags
    FROM outbox WHERE id = 0 WITH CASCADED CHECK OPTION;

UPDATE outbox_meta SET schema_version = 14, serves_from = 2;
