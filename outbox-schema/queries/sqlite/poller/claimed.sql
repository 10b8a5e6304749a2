-- The rows of a claim that may still be sent under it, given as pairs of id and revision, each with its place in the claim. Not
-- sorted by that, which would hold all bodies in memory once more.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT sent.key AS place,
       o.id, o.revision, o.idempotency_key, o.channel, o.target, o.destination,
       o.payload, o.headers, o.attempts, o.max_attempts,
       CAST(o.expires_at - now.ms AS INTEGER) AS expires_in_ms,
       CAST(now.ms - o.first_attempt_at AS INTEGER) AS retrying_for_ms,
       CAST(now.ms - o.created_at AS INTEGER) AS waited_ms,
       CAST(o.created_at AS INTEGER) AS created_ms,
       o.ordering_key, o.traceparent, o.tracestate,
       EXISTS (SELECT 1 FROM outbox_invalid_target gone
               WHERE gone.channel = o.channel AND gone.target = o.target) AS target_is_gone
FROM json_each(?1) sent
CROSS JOIN outbox o ON o.id = sent.value ->> 0 AND o.revision = sent.value ->> 1 AND o.status = 'PENDING'
CROSS JOIN now
