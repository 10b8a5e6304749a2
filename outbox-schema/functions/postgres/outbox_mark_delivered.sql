-- Write a group of plain deliveries, which is what most marks are: as outbox_mark does, without what only others need.
-- False says that some were not taken: outbox_mark_free tells which of them are fenced or held, and finds the others marked already.
CREATE OR REPLACE FUNCTION outbox_mark_delivered(
    p_claims uuid[], p_finished uuid[], p_claim uuid[], p_ids bigint[], p_revisions integer[],
    p_started_ms bigint[], p_status_codes integer[], p_receipts text[]
) RETURNS boolean
LANGUAGE plpgsql
-- Claims come and go: where a snapshot is open elsewhere, a scan of their table would read all that have gone since. And to
-- plan anew for the arguments of each call takes a tenth of what the marks take.
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
-- Long enough for a transaction that ends at once. To lock each row first, so as to pass over it, would write each lock to disk.
SET lock_timeout = '20ms'
AS $$
DECLARE
    standing uuid[];
    taken    integer;
BEGIN
    PERFORM outbox_fresh_plans();
    SELECT array_agg(locked.id) INTO standing
    FROM (SELECT c.id FROM outbox_claim c WHERE c.id = ANY (p_claims) ORDER BY c.id FOR UPDATE) locked;

    UPDATE outbox o
    SET status = 'SUCCESS',
        revision = o.revision + 1,
        attempts = o.attempts + 1,
        dead_reason = NULL,
        deferred_from = NULL,
        first_attempt_at = coalesce(o.first_attempt_at, clock_timestamp() - m.started_ms * interval '1 ms'),
        finished_at = clock_timestamp(),
        receipt = coalesce(m.receipt, o.receipt),
        last_status_code = coalesce(m.status_code, o.last_status_code),
        last_error = NULL,
        error_hash = NULL
    FROM unnest(p_claim, p_ids, p_revisions, p_started_ms, p_status_codes, p_receipts)
         AS m(claim, id, revision, started_ms, status_code, receipt)
    WHERE o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING' AND m.claim = ANY (standing);
    GET DIAGNOSTICS taken = ROW_COUNT;

    IF taken < cardinality(p_ids) THEN
        RETURN false;
    END IF;
    DELETE FROM outbox_claim WHERE id = ANY (p_finished);
    RETURN true;
EXCEPTION
    WHEN lock_not_available THEN
        RETURN false; -- and none was taken
END
$$;
