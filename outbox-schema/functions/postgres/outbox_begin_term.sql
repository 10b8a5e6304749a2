-- Begin a term: mint its epoch, then freeze the claims that earlier terms left. Claimers hold the term row
-- shared, so once it is locked no claim of an earlier term can still appear. The caller's setting `outbox.above` is the highest
-- epoch that was seen: after a failover the row may have forgotten it. `outbox.served_by` names the server.
CREATE OR REPLACE FUNCTION outbox_begin_term(p_shard smallint, p_holder varchar) RETURNS bigint
LANGUAGE plpgsql
-- Where a snapshot is open elsewhere, a scan of all claims would read those that have gone since.
SET enable_seqscan = off
AS $$
DECLARE
    term   outbox_term%ROWTYPE;
    minted bigint;
BEGIN
    PERFORM outbox_fresh_plans();
    INSERT INTO outbox_term (shard, epoch, holder, started_at)
    VALUES (p_shard, 0, '', clock_timestamp()) ON CONFLICT (shard) DO NOTHING;
    SELECT * INTO term FROM outbox_term WHERE shard = p_shard FOR UPDATE;
    IF term.holder = p_holder THEN
        RETURN term.epoch; -- the answer to an earlier call was lost
    END IF;

    minted := greatest(term.epoch, nullif(current_setting('outbox.above', true), '')::bigint) + 1;
    UPDATE outbox_term
    SET epoch = minted, holder = p_holder, started_at = clock_timestamp(),
        unsettled_from = coalesce((SELECT min(c.epoch) FROM outbox_claim c
                                   WHERE c.shard = p_shard AND c.epoch >= term.unsettled_from), minted)
    WHERE shard = p_shard;
    UPDATE outbox_term_log SET ended_at = clock_timestamp(), ended_because = 'lost'
    WHERE shard = p_shard AND epoch = term.epoch AND ended_at IS NULL;
    INSERT INTO outbox_term_log (shard, epoch, holder, started_at, in_doubt, served_by)
    VALUES (p_shard, minted, p_holder, clock_timestamp(), 0, nullif(current_setting('outbox.served_by', true), ''));

    -- Those of earlier terms were superseded when that one began. Ordered as by id, but not by the index of all ids.
    PERFORM FROM outbox_claim WHERE shard = p_shard AND epoch = term.epoch AND superseded_at IS NULL
    ORDER BY id::text COLLATE "C" FOR UPDATE;
    UPDATE outbox_claim SET superseded_at = clock_timestamp()
    WHERE shard = p_shard AND epoch = term.epoch AND superseded_at IS NULL;
    RETURN minted;
END
$$;
