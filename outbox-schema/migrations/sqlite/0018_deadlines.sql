-- How long the next attempt of a message waits for an answer, once an attempt has timed out. NULL: as long as its channel says.
ALTER TABLE outbox ADD deadline_ms INTEGER
    CHECK (deadline_ms IS NULL OR (typeof(deadline_ms) = 'integer' AND deadline_ms BETWEEN -2147483648 AND 2147483647));

UPDATE outbox_meta SET schema_version = 18, serves_from = 2;
