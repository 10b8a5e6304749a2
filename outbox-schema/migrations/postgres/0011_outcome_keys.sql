-- The keys of outcomes belong to the poller.

-- As in 0002: rows of before that would be refused get a revision; those that are claimed get theirs as they are marked.
UPDATE outbox SET revision = revision + 1
WHERE status = 'PENDING' AND revision = 0
  AND idempotency_key LIKE 'outcome:________-____-____-____-____________:%'
  AND NOT EXISTS (SELECT FROM outbox_claim WHERE outbox.id = ANY (message_ids));

-- The key of an outcome can be foreseen, and the mark that tells of it adds nothing where the key is there. An application may write
-- no revision, and the poller writes its outcomes with one.
ALTER TABLE outbox
    ADD CONSTRAINT outbox_key_of_an_outcome
        CHECK (revision > 0 OR idempotency_key NOT LIKE 'outcome:________-____-____-____-____________:%') NOT VALID;

UPDATE outbox_meta SET schema_version = 11, serves_from = 2;
