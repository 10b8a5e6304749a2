-- Claims these rows, which outbox_take found before it asked about strangers, in this order: one claim row, committed before any of
-- them is sent. Each is read again, by its revision. What a cancellation has locked is left; where that is all, nothing is claimed.
CREATE OR REPLACE FUNCTION outbox_take_found(
    p_shard smallint, p_epoch bigint, p_holder varchar, p_claim uuid, p_ids bigint[], p_revisions integer[],
    p_channels varchar[], p_most_bytes bigint[], p_at_most_once varchar[], p_settling_ms bigint, p_settling_closed_ms bigint
) RETURNS SETOF outbox_taken
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM outbox_fresh_plans();
    IF EXISTS (SELECT FROM outbox_claim WHERE id = p_claim) THEN -- the answer to the first call was lost
        PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
        RETURN QUERY SELECT o.*
        FROM outbox_claim c, outbox_taken_rows(c.message_ids, c.revisions, p_channels, p_most_bytes, false, NULL) o
        WHERE c.id = p_claim;
        RETURN;
    END IF;
    -- Held until this claim has committed, as outbox_take does it.
    IF NOT pg_try_advisory_xact_lock(outbox_cancelling(p_shard)) THEN
        PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
        SELECT array_agg(sent.id ORDER BY sent.place), array_agg(sent.revision ORDER BY sent.place) INTO p_ids, p_revisions
        FROM unnest(p_ids, p_revisions) WITH ORDINALITY AS sent(id, revision, place)
        JOIN (SELECT o.id, o.revision FROM unnest(p_ids) AS s(id) JOIN outbox o ON o.id = s.id AND o.status = 'PENDING'
              FOR SHARE OF o SKIP LOCKED) free ON free.id = sent.id AND free.revision = sent.revision;
        IF p_ids IS NULL THEN
            RETURN;
        END IF;
    END IF;
    INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at,
                              settling_ms, settling_closed_ms, at_most_once)
    SELECT p_claim, p_shard, p_epoch, p_holder, p_ids, p_revisions, clock_timestamp(),
           p_settling_ms, p_settling_closed_ms, p_at_most_once
    FROM outbox_term WHERE shard = p_shard AND epoch = p_epoch AND holder = p_holder FOR SHARE;
    IF NOT FOUND THEN
        PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
    END IF;
    RETURN QUERY SELECT o.* FROM outbox_taken_rows(p_ids, p_revisions, p_channels, p_most_bytes, false, NULL) o;
END
$$;
