-- The rows of a claim that may still be sent under it.
CREATE OR REPLACE FUNCTION outbox_claimed(p_ids bigint[], p_revisions integer[], p_complete boolean, p_nths integer[])
RETURNS SETOF outbox_met
LANGUAGE sql STABLE
AS $$
    SELECT true, o.id, o.revision, coalesce(o.sent_key, o.idempotency_key), o.channel, o.target, o.destination, o.payload, o.headers,
           o.attempts, o.max_attempts, o.expires_at, o.first_attempt_at, o.created_at,
           o.ordering_key, o.traceparent, o.tracestate, o.priority, o.available_at, p_complete, sent.nth, sent.place
    FROM unnest(p_ids, p_revisions, p_nths) WITH ORDINALITY AS sent(id, revision, nth, place)
    JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
$$;
