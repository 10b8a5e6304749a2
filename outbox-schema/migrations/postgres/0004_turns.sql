-- Who shares a channel, and how large a row may be.

ALTER TABLE outbox
    -- Who takes turns with others in the channel. NULL: the destination does.
    ADD tenant varchar(255) COLLATE "C";

-- From tenant to tenant, by a number: 15 bits of it for the channel, so that the tenants of a channel lie together. Those that
-- share a number share their turns.
CREATE INDEX outbox_turns ON outbox (
    shard,
    (((hashtextextended(channel, 0) & 32767) << 48) | (hashtextextended(coalesce(tenant, destination), 0) & 281474976710655)),
    priority, available_at, id
) WHERE status = 'PENDING' AND ordering_key IS NULL;

-- As in 0002: rows of before that would be refused get a revision; those that are claimed get theirs as they are marked. jsonb keeps
-- 1e131071 in ten bytes and prints 131,072, so where headers hold numbers they are not printed: not here, and in no check of a row
-- that has a revision.
UPDATE outbox SET revision = revision + 1
WHERE status = 'PENDING' AND revision = 0
  AND NOT EXISTS (SELECT FROM outbox_claim WHERE outbox.id = ANY (message_ids))
  AND (octet_length(target) > 8192 OR id NOT BETWEEN 1 AND 4611686018427387903
       OR CASE WHEN headers IS NULL THEN false
               WHEN jsonb_path_exists(headers, '$.** ? (@.type() == "number")') THEN true
               ELSE octet_length(headers::text) > 65536 END);

ALTER TABLE outbox
    ADD CONSTRAINT outbox_target_of_8_kib CHECK (revision > 0 OR octet_length(target) <= 8192) NOT VALID,
    ADD CONSTRAINT outbox_headers_of_64_kib CHECK (revision > 0 OR octet_length(headers::text) <= 65536) NOT VALID,
    -- An id far ahead would leave none for others, and one below all others would go before them in its ordering key. (Below zero are
    -- the messages of a trial, whose shard is.)
    ADD CONSTRAINT outbox_id_from_the_sequence CHECK (revision > 0 OR id BETWEEN 1 AND 4611686018427387903 OR shard < 0) NOT VALID;

CREATE OR REPLACE VIEW outbox_new AS
    SELECT id, idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, available_at,
           expires_at, traceparent, tracestate, created_at, tenant
    FROM outbox WHERE false;

-- A row that a claim took or met, as replicas of this release read it.
DROP TYPE IF EXISTS outbox_taken CASCADE;
CREATE TYPE outbox_taken AS (
    -- 'claimed', 'deferred', or 'asked': a destination of which the poller has said nothing.
    came_by varchar,
    id bigint, revision integer, idempotency_key varchar, channel varchar, target text, destination varchar,
    -- Without payload and headers where the row is too large to be read.
    bytes bigint, too_large boolean, payload jsonb, headers jsonb,
    attempts smallint, max_attempts smallint, expires_at timestamptz, first_attempt_at timestamptz, created_at timestamptz,
    ordering_key varchar, tenant varchar, traceparent varchar, tracestate varchar, priority smallint, available_at timestamptz,
    -- Whether the claim took all that its walk came by, and that was all that is due. If not, its place among the due rows of its
    -- priority that the walk came by: a gap says that some were left. NULL where that is not known.
    complete boolean, nth integer,
    -- Its place in the claim. The rows come in any order.
    place bigint
);

UPDATE outbox_meta SET schema_version = 4, serves_from = 2;
