-- Write a group of marks, but for those of rows that somebody else has locked: all others would wait for that transaction as well.
-- The claims are locked first; whether a row may be marked is read after that. Returns the fenced rows, and those that are held. A
-- claim with a held row stays.
CREATE OR REPLACE FUNCTION outbox_mark_free(p_marks json, p_claims uuid[], p_finished uuid[])
RETURNS TABLE (message_id bigint, is_held boolean)
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    standing uuid[];
    free     bigint[];
    held     bigint[] := '{}';
    unended  uuid[] := '{}';
BEGIN
    PERFORM outbox_fresh_plans();
    SELECT array_agg(locked.id) INTO standing
    FROM (SELECT c.id FROM outbox_claim c WHERE c.id = ANY (p_claims) ORDER BY c.id FOR UPDATE) locked;

    SELECT coalesce(array_agg(locked.id), '{}') INTO free
    FROM (SELECT o.id FROM json_to_recordset(p_marks) AS m(claim uuid, id bigint, revision integer)
          JOIN outbox o ON o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING'
          WHERE m.claim = ANY (standing) ORDER BY o.id FOR NO KEY UPDATE OF o SKIP LOCKED) locked;
    IF cardinality(free) < json_array_length(p_marks) THEN
        -- As they were claimed, and yet not to be had.
        SELECT coalesce(array_agg(m.id), '{}'), coalesce(array_agg(m.claim), '{}') INTO held, unended
        FROM json_to_recordset(p_marks) AS m(claim uuid, id bigint, revision integer)
        JOIN outbox o ON o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING'
        WHERE m.claim = ANY (standing) AND m.id NOT IN (SELECT unnest(free));
    END IF;

    RETURN QUERY
    WITH mark AS MATERIALIZED (
        SELECT * FROM json_to_recordset(p_marks) AS m(
            claim uuid, id bigint, revision integer, status text, counted integer, dead_reason text,
            after_ms bigint, deadline_ms integer, deferred boolean, spared_ms bigint,
            paused text, paused_ms bigint, pause_kind text, invalid_target boolean, receipt text, status_code integer, error text, error_hash text, record boolean,
            number integer, epoch bigint, holder text, started_ms bigint, duration_ms bigint,
            outcome text, excerpt text)
    ), marked AS (
        UPDATE outbox o
        SET status = m.status,
            revision = o.revision + 1,
            attempts = o.attempts + m.counted,
            dead_reason = m.dead_reason,
            available_at = CASE WHEN m.after_ms IS NULL THEN o.available_at
                                ELSE clock_timestamp() + m.after_ms * interval '1 ms' END,
            deadline_ms = coalesce(m.deadline_ms, o.deadline_ms),
            deferred_from = CASE WHEN m.spared_ms > 0 THEN clock_timestamp() + m.spared_ms * interval '1 ms'
                                 WHEN m.deferred THEN coalesce(o.deferred_from, o.available_at)
                                 -- An unsent row may have been put aside since its claim, and is still to be brought back.
                                 WHEN m.status = 'PENDING' AND m.after_ms IS NULL THEN o.deferred_from END,
            first_attempt_at = CASE WHEN m.counted = 0 AND m.spared_ms IS NULL THEN o.first_attempt_at ELSE coalesce(
                o.first_attempt_at, clock_timestamp() - m.started_ms * interval '1 ms') END,
            finished_at = CASE WHEN m.status <> 'PENDING' THEN clock_timestamp() END,
            receipt = coalesce(m.receipt, o.receipt),
            last_status_code = coalesce(m.status_code, o.last_status_code),
            last_error = CASE WHEN m.status = 'SUCCESS' THEN NULL ELSE coalesce(m.error, o.last_error) END,
            error_hash = m.error_hash
        FROM mark m JOIN unnest(free) AS locked(id) ON locked.id = m.id
        WHERE o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING'
        RETURNING o.id, o.channel, o.target
    ), refused AS (
        SELECT m.* FROM mark m WHERE NOT EXISTS (SELECT FROM marked WHERE marked.id = m.id) AND m.id <> ALL (held)
    ), fenced AS (
        -- A delivery that is recorded already is a repeated mark, not a fenced one.
        SELECT r.* FROM refused r LEFT JOIN outbox o ON o.id = r.id
        WHERE o.id IS NULL OR o.revision <> r.revision + 1 OR o.status <> r.status
           OR (r.record AND NOT EXISTS (
                SELECT FROM outbox_attempt a WHERE a.message_id = r.id AND a.epoch = r.epoch
                AND a.holder = r.holder AND a.number = r.number AND a.outcome = r.outcome))
    ), recorded AS (
        INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, duration_ms,
                                    outcome, status_code, error, excerpt)
        SELECT a.id, a.number, a.epoch, a.holder, c.claimed_at,
               clock_timestamp() - a.started_ms * interval '1 ms', a.duration_ms,
               a.said, a.status_code, a.error, a.excerpt
        FROM (
            SELECT m.*, m.outcome AS said FROM mark m
            WHERE m.record AND EXISTS (SELECT FROM marked WHERE marked.id = m.id)
            UNION ALL
            -- Once, however often the mark is repeated.
            SELECT f.*, 'delivered_fenced' FROM fenced f WHERE f.status = 'SUCCESS' AND NOT EXISTS (
                SELECT FROM outbox_attempt a WHERE a.message_id = f.id AND a.epoch = f.epoch
                AND a.holder = f.holder AND a.number = f.number AND a.outcome = 'delivered_fenced')
        ) a LEFT JOIN outbox_claim c ON c.id = a.claim
        ORDER BY a.id
    ), gone AS (
        INSERT INTO outbox_invalid_target (channel, target, reason)
        SELECT DISTINCT ON (marked.channel, marked.target) marked.channel, marked.target, m.error
        FROM mark m JOIN marked ON marked.id = m.id WHERE m.invalid_target
        ON CONFLICT (channel, md5(target)) DO UPDATE SET reason = excluded.reason, observed_at = excluded.observed_at
    ), paused AS (
        INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, failures)
        SELECT m.paused, clock_timestamp() + m.paused_ms * interval '1 ms', 'dispatcher', m.pause_kind, m.error,
               (m.pause_kind = 'breaker')::integer
        FROM mark m WHERE m.paused IS NOT NULL ORDER BY m.paused
        -- Of two pauses the one that ends later counts; a breaker stays one until it closes, or nobody would try it
        -- carefully.
        ON CONFLICT (destination) DO UPDATE
        SET paused_until = greatest(outbox_destination.paused_until, excluded.paused_until),
            paused_by = CASE WHEN outbox_destination.paused_until > excluded.paused_until
                             THEN outbox_destination.paused_by ELSE excluded.paused_by END,
            pause_kind = CASE WHEN 'breaker' IN (outbox_destination.pause_kind, excluded.pause_kind) THEN 'breaker'
                              WHEN outbox_destination.paused_until > excluded.paused_until
                              THEN outbox_destination.pause_kind ELSE excluded.pause_kind END,
            reason = CASE WHEN outbox_destination.paused_until > excluded.paused_until
                          THEN outbox_destination.reason ELSE excluded.reason END,
            failures = outbox_destination.failures + excluded.failures
        -- What somebody paused by hand stays paused.
        WHERE outbox_destination.pause_kind IS DISTINCT FROM 'hand'
           OR outbox_destination.paused_until IS NULL OR outbox_destination.paused_until <= clock_timestamp()
    )
    SELECT fenced.id, false FROM fenced UNION ALL SELECT locked.id, true FROM unnest(held) AS locked(id);

    DELETE FROM outbox_claim WHERE id = ANY (p_finished) AND id <> ALL (unended);
END
$$;
