-- The keys of outcomes belong to the poller. The key of an outcome can be foreseen, and the mark that tells of it adds nothing where
-- the key is there. An application writes no revision, and the poller writes its outcomes with one.
CREATE TRIGGER outbox_born_as_an_outcome BEFORE INSERT ON outbox
WHEN NEW.revision = 0 AND NEW.idempotency_key GLOB 'outcome:????????-????-????-????-????????????:*'
BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_key_of_an_outcome');
END;

UPDATE outbox_meta SET schema_version = 11, serves_from = 2;
