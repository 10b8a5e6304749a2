-- How long the next attempt of a message waits for an answer, once an attempt has timed out. NULL: as long as its channel says.
ALTER TABLE outbox ADD deadline_ms integer;

UPDATE outbox_meta SET schema_version = 18, serves_from = 2;
