-- What hurt writers: a hint that failed their transaction, and empty texts that nobody meant.

-- As in 0001, but the hint fails no transaction that inserts. `SET outbox.wakeup = 'off'` does without it, for a session, a
-- transaction or a role (ALTER ROLE shop SET outbox.wakeup = 'off'). That is for two-phase commit: PREPARE TRANSACTION refuses a
-- transaction that has notified, and no trigger can tell. A full queue refuses the commit, so none is given to one that fills up.
CREATE OR REPLACE FUNCTION outbox_wakeup() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF pg_catalog.lower(pg_catalog.current_setting('outbox.wakeup', true)) = 'off' THEN
        RETURN NULL;
    END IF;
    IF NOT (pg_catalog.pg_try_advisory_lock(-(TG_RELID::bigint << 16))
            AND pg_catalog.pg_advisory_unlock(-(TG_RELID::bigint << 16)))
       AND pg_catalog.pg_notification_queue_usage() < 0.5 THEN
        PERFORM pg_catalog.pg_notify('outbox_' || TG_RELID, '');
    END IF;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL; -- the next poll finds the message
END
$$;

-- As in 0002: rows of before that would be refused get a revision; those that are claimed get theirs as they are marked.
UPDATE outbox SET revision = revision + 1
WHERE status = 'PENDING' AND revision = 0
  AND (idempotency_key = '' OR idempotency_key LIKE '% ' OR ordering_key = '' OR ordering_key LIKE '% '
       OR tenant = '' OR tenant LIKE '% ' OR channel = '' OR channel LIKE '% ' OR target = '')
  AND NOT EXISTS (SELECT FROM outbox_claim WHERE outbox.id = ANY (message_ids));

-- All messages with an empty key would be one, and all with an empty ordering key one line: leave the column out, or write NULL.
-- MySQL and MariaDB compare texts without the spaces at their end, so two keys that differ by those alone are refused on all.
ALTER TABLE outbox
    ADD CONSTRAINT outbox_idempotency_key_not_empty CHECK (revision > 0 OR idempotency_key <> '') NOT VALID,
    ADD CONSTRAINT outbox_ordering_key_not_empty CHECK (revision > 0 OR ordering_key <> '') NOT VALID,
    ADD CONSTRAINT outbox_tenant_not_empty CHECK (revision > 0 OR tenant <> '') NOT VALID,
    ADD CONSTRAINT outbox_channel_not_empty CHECK (revision > 0 OR channel <> '') NOT VALID,
    ADD CONSTRAINT outbox_target_not_empty CHECK (revision > 0 OR target <> '') NOT VALID,
    ADD CONSTRAINT outbox_key_ends_in_no_space
        CHECK (revision > 0 OR right(idempotency_key, 1) <> ' ' AND right(channel, 1) <> ' '
               AND coalesce(right(ordering_key, 1) <> ' ', true) AND coalesce(right(tenant, 1) <> ' ', true)) NOT VALID;

UPDATE outbox_meta SET schema_version = 16, serves_from = 2;
