-- The rows of a claim that may still be sent under it, in the order in which they were claimed.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT 1 AS claimed,
       o.id, o.revision, o.idempotency_key, o.channel, o.target, o.destination,
       o.payload AS payload, o.headers, o.attempts, o.max_attempts,
       CAST(o.expires_at - now.ms AS INTEGER) AS expires_in_ms,
       CAST(now.ms - o.first_attempt_at AS INTEGER) AS retrying_for_ms,
       CAST(now.ms - o.created_at AS INTEGER) AS waited_ms,
       CAST(o.created_at AS INTEGER) AS created_ms,
       o.ordering_key, o.traceparent, o.tracestate,
       EXISTS (SELECT 1 FROM outbox_invalid_target gone
               WHERE gone.channel = o.channel AND gone.target = o.target) AS target_is_gone,
       o.priority, NULL AS start_us, NULL AS nth
FROM outbox_claim c
CROSS JOIN json_each(c.message_ids) sent
CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key AND o.status = 'PENDING'
CROSS JOIN now
WHERE c.id = ?1
ORDER BY sent.key
