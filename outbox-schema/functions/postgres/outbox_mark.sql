-- As outbox_mark_free does it, for replicas of the release before: they know nothing of rows that are held, and wait for them.
CREATE OR REPLACE FUNCTION outbox_mark(p_marks json, p_claims uuid[], p_finished uuid[]) RETURNS SETOF bigint
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM outbox_fresh_plans();
    PERFORM FROM outbox_claim c WHERE c.id = ANY (p_claims) ORDER BY c.id FOR UPDATE;
    PERFORM FROM json_to_recordset(p_marks) AS m(id bigint, revision integer)
    JOIN outbox o ON o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING' ORDER BY o.id FOR NO KEY UPDATE OF o;
    RETURN QUERY SELECT marked.message_id FROM outbox_mark_free(p_marks, p_claims, p_finished) marked WHERE NOT marked.is_held;
END
$$;
