-- The rows of a claim that may still be sent under it, given as pairs of id and revision. They come in any order, each with its
-- place in the claim: to sort them would take a table with their bodies on disk.
SELECT sent.place, o.id, o.revision, o.idempotency_key, o.channel, o.target, o.destination,
       CAST(o.payload AS CHAR) AS payload, CAST(o.headers AS CHAR) AS headers,
       o.attempts, o.max_attempts,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), o.expires_at) DIV 1000 AS expires_in_ms,
       TIMESTAMPDIFF(MICROSECOND, o.first_attempt_at, UTC_TIMESTAMP(6)) DIV 1000 AS retrying_for_ms,
       COALESCE(TIMESTAMPDIFF(MICROSECOND, o.created_at, UTC_TIMESTAMP(6)) DIV 1000, 0) AS waited_ms,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', o.created_at) DIV 1000 AS created_ms,
       o.ordering_key, o.traceparent, o.tracestate,
       -- Asked of each row only where there are any.
       IF((SELECT COUNT(*) FROM (SELECT 1 FROM outbox_invalid_target LIMIT 1) gone) = 0, FALSE, EXISTS (
           SELECT 1 FROM outbox_invalid_target gone
           WHERE gone.channel = o.channel AND gone.target_hash = SHA2(o.target, 256))) AS target_is_gone
FROM JSON_TABLE(?, '$[*]' COLUMNS (
         place FOR ORDINALITY, id bigint PATH '$[0]', revision integer PATH '$[1]')) sent
STRAIGHT_JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
