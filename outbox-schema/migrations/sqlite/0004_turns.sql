-- Who shares a channel, and how large a row may be.

-- Who takes turns with others in the channel. NULL: the destination does.
ALTER TABLE outbox ADD tenant TEXT CHECK (tenant IS NULL OR (typeof(tenant) = 'text' AND length(tenant) <= 255));

-- From tenant to tenant of a channel.
CREATE INDEX outbox_turns ON outbox (shard, channel, coalesce(tenant, destination), priority, available_at, id)
    WHERE status = 'PENDING' AND ordering_key IS NULL;

CREATE TRIGGER outbox_born_in_bounds BEFORE INSERT ON outbox
BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_target_of_8_kib')
    WHERE NEW.revision = 0 AND length(CAST(NEW.target AS BLOB)) > 8192;
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_headers_of_64_kib')
    WHERE NEW.revision = 0 AND length(CAST(NEW.headers AS BLOB)) > 65536;
    -- An id far ahead would leave none for others. An id that nobody gave is -1 here, and the shard of a trial is below zero.
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_id_from_the_sequence')
    WHERE NEW.revision = 0 AND NEW.shard >= 0 AND NEW.id <> -1 AND NEW.id NOT BETWEEN 1 AND 4611686018427387903;
END;

UPDATE outbox_meta SET schema_version = 4, serves_from = 2;
