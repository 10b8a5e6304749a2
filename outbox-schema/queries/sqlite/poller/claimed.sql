-- The rows of a claim that may still be sent under it, given as pairs of id and revision, each with its place in the claim. Not
-- sorted by that, which would hold all bodies in memory once more. What is too large for its channel is not read, and no body
-- where ?3 is false.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER)),
channel(name, most) AS MATERIALIZED (SELECT value ->> 'name', value ->> 'max_message_bytes' FROM json_each(?2)),
size(place, id, bytes, too_large) AS MATERIALIZED (
    SELECT sent.key, o.id, o.payload_bytes + length(CAST(o.target AS BLOB)) + coalesce(length(CAST(o.headers AS BLOB)), 0),
           coalesce(o.payload_bytes + length(CAST(o.target AS BLOB)) + coalesce(length(CAST(o.headers AS BLOB)), 0)
                    > (SELECT most FROM channel WHERE channel.name = o.channel), FALSE)
    FROM json_each(?1) sent
    CROSS JOIN outbox o ON o.id = sent.value ->> 0 AND o.revision = sent.value ->> 1 AND o.status = 'PENDING'
)
SELECT size.place, o.id, o.revision, coalesce(o.sent_key, o.idempotency_key) AS idempotency_key, o.channel, o.target, o.destination, size.bytes, size.too_large,
       CASE WHEN size.too_large OR NOT ?3 THEN '' ELSE o.payload END AS payload,
       CASE WHEN size.too_large OR NOT ?3 THEN NULL ELSE o.headers END AS headers,
       o.attempts, o.max_attempts,
       CAST(o.expires_at - now.ms AS INTEGER) AS expires_in_ms,
       CAST(now.ms - o.first_attempt_at AS INTEGER) AS retrying_for_ms,
       CAST(now.ms - o.created_at AS INTEGER) AS waited_ms,
       CAST(o.created_at AS INTEGER) AS created_ms,
       o.deadline_ms, o.ordering_key, o.tenant, o.traceparent, o.tracestate,
       EXISTS (SELECT 1 FROM outbox_invalid_target gone
               WHERE gone.channel = o.channel AND gone.target = o.target) AS target_is_gone
FROM size CROSS JOIN outbox o ON o.id = size.id CROSS JOIN now
