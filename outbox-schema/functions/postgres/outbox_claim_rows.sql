-- Claims rows by their ids, and returns those that still are as they were seen: waiting, due, at that revision, of these
-- channels, and of an ordering key the first that waits, unless a dead letter halts it (p_halting). One claim row holds exactly
-- these, committed before any of them is sent. Where there are none, it is not made.
--
-- The term is locked and proven first. What is claimed is read in a statement that begins after that.
--
-- Each row is looked up by its id alone, whatever the planner believes of the table: hence CROSS JOIN LATERAL with a LIMIT.
-- What goes before it in its key is asked for as a stretch of one index, in the order of that index: as equal values, it could
-- be looked for in the order of another, past the rows of all others. Keys whose numbers are the same are told apart by their
-- names.
CREATE OR REPLACE FUNCTION outbox_claim_rows(
    p_shard smallint, p_epoch bigint, p_holder varchar, p_claim uuid, p_ids bigint[], p_revisions integer[],
    p_channels varchar[], p_most_bytes bigint[], p_halting varchar[], p_at_most_once varchar[],
    p_timeout_ms bigint, p_margin_ms bigint, p_ttl_ms bigint
) RETURNS TABLE (
    claimed boolean, id bigint, revision integer, priority smallint, available_at timestamptz, channel varchar, tenant varchar,
    destination varchar, ordering_key varchar, bytes bigint, idempotency_key varchar, target text, too_large boolean, payload jsonb,
    headers jsonb, attempts smallint, max_attempts smallint, expires_at timestamptz, first_attempt_at timestamptz,
    created_at timestamptz, deadline_ms integer, traceparent varchar, tracestate varchar, place bigint
)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    made boolean;
BEGIN
    PERFORM outbox_fresh_plans();
    made := EXISTS (SELECT FROM outbox_claim c WHERE c.id = p_claim);
    PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
    IF made THEN -- the answer to the first call was lost
        SELECT c.message_ids, c.revisions INTO p_ids, p_revisions FROM outbox_claim c WHERE c.id = p_claim;
    -- Held until this claim has committed: whoever is to cancel waits for that. Not had: a cancellation is open. A row that is
    -- being cancelled is locked, and left alone; one that is locked here is not cancelled before this claim has committed, and
    -- then no more.
    ELSIF NOT pg_try_advisory_xact_lock(outbox_cancelling(p_shard)) THEN
        SELECT array_agg(free.id), array_agg(free.revision) INTO p_ids, p_revisions
        FROM unnest(p_ids, p_revisions) AS sent(id, revision)
        CROSS JOIN LATERAL (
            SELECT o.id, o.revision FROM outbox o WHERE o.id = sent.id LIMIT 1 FOR SHARE SKIP LOCKED
        ) free
        WHERE free.revision = sent.revision;
    END IF;
    RETURN QUERY
    WITH fits AS MATERIALIZED (
        SELECT o.*, sent.place
        FROM unnest(p_ids, p_revisions) WITH ORDINALITY AS sent(id, revision, place)
        CROSS JOIN LATERAL (
            SELECT o.id, o.revision, o.shard, o.status, o.priority, o.available_at, o.channel, o.tenant, o.destination, o.ordering_key,
                   o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes,
                   coalesce(o.sent_key, o.idempotency_key) AS idempotency_key, o.target, o.payload, o.headers, o.attempts,
                   o.max_attempts, o.expires_at, o.first_attempt_at, o.created_at, o.deadline_ms, o.traceparent, o.tracestate
            FROM outbox o WHERE o.id = sent.id LIMIT 1
        ) o
        WHERE o.revision = sent.revision AND o.status = 'PENDING'
          AND (made
               OR (o.shard = p_shard AND o.available_at <= now() AND o.channel = ANY (p_channels)
                   AND CASE WHEN o.ordering_key IS NULL THEN true ELSE
                       (SELECT true FROM outbox e
                        WHERE e.shard = p_shard AND e.status = 'PENDING' AND e.ordering_key IS NOT NULL
                          AND hashtextextended(e.ordering_key, hashtextextended(e.channel, 0))
                              >= hashtextextended(o.ordering_key, hashtextextended(o.channel, 0))
                          AND (hashtextextended(e.ordering_key, hashtextextended(e.channel, 0)), e.id)
                              < (hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)), o.id)
                          AND e.channel = o.channel AND e.ordering_key = o.ordering_key
                        ORDER BY hashtextextended(e.ordering_key, hashtextextended(e.channel, 0)), e.id LIMIT 1) IS NULL
                       AND CASE WHEN o.channel = ANY (p_halting) THEN
                           (SELECT true FROM outbox dead
                            WHERE dead.status = 'DEAD' AND dead.ordering_key IS NOT NULL
                              AND dead.dead_reason IS DISTINCT FROM 'cancelled'
                              AND dead.shard = o.shard AND dead.channel = o.channel AND dead.ordering_key >= o.ordering_key
                              AND (dead.ordering_key, dead.id) < (o.ordering_key, o.id)
                            ORDER BY dead.ordering_key, dead.id LIMIT 1) IS NULL
                       ELSE true END
                   END))
    ), claim AS (
        INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms,
                                  at_most_once)
        SELECT p_claim, p_shard, p_epoch, p_holder, batch.ids, batch.revisions, clock_timestamp(),
               p_ttl_ms + batch.longest + p_margin_ms, batch.longest + p_margin_ms, p_at_most_once
        FROM (
            -- What timed out before has longer to answer.
            SELECT array_agg(fits.id) AS ids, array_agg(fits.revision) AS revisions,
                   greatest(p_timeout_ms, max(least(fits.deadline_ms, 60000)) FILTER (WHERE fits.deadline_ms IS NOT NULL)) AS longest
            FROM fits WHERE NOT made HAVING count(*) > 0
        ) batch
    )
    SELECT true, o.id, o.revision, o.priority, o.available_at, o.channel, o.tenant, o.destination, o.ordering_key, size.bytes,
           o.idempotency_key, o.target, size.too_large, CASE WHEN NOT size.too_large THEN o.payload END,
           CASE WHEN NOT size.too_large THEN o.headers END, o.attempts, o.max_attempts, o.expires_at, o.first_attempt_at,
           o.created_at, o.deadline_ms, o.traceparent, o.tracestate, o.place
    FROM fits o
    CROSS JOIN LATERAL (
        SELECT o.bytes, o.bytes > coalesce(p_most_bytes[array_position(p_channels, o.channel)], o.bytes) AS too_large
    ) size;
END
$$;
