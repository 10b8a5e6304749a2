-- The rows of a claim that may still be sent under it, given as pairs of id and revision. They come in any order, each with its
-- place in the claim: to sort them would take a table with their bodies on disk. What is too large for its channel is not read,
-- and no body where they are not asked for.
SELECT place, id, revision, idempotency_key, channel, target, destination, bytes, too_large,
       IF(too_large OR NOT ?3, '', CAST(payload AS CHAR)) AS payload, IF(too_large OR NOT ?3, NULL, CAST(headers AS CHAR)) AS headers,
       attempts, max_attempts,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at) DIV 1000 AS expires_in_ms,
       TIMESTAMPDIFF(MICROSECOND, first_attempt_at, UTC_TIMESTAMP(6)) DIV 1000 AS retrying_for_ms,
       COALESCE(TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) DIV 1000, 0) AS waited_ms,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at) DIV 1000 AS created_ms,
       deadline_ms, ordering_key, tenant, traceparent, tracestate,
       -- Asked of each row only where there are any.
       IF((SELECT COUNT(*) FROM (SELECT 1 FROM outbox_invalid_target LIMIT 1) gone) = 0, FALSE, EXISTS (
           SELECT 1 FROM outbox_invalid_target gone
           WHERE gone.channel = sized.channel AND gone.target_hash = SHA2(sized.target, 256))) AS target_is_gone
FROM (
    SELECT sent.place, o.id, o.revision, COALESCE(o.sent_key, o.idempotency_key) AS idempotency_key, o.channel, o.target, o.destination, o.payload, o.headers, o.attempts,
           o.max_attempts, o.expires_at, o.first_attempt_at, o.created_at, o.deadline_ms, o.ordering_key, o.tenant, o.traceparent,
           o.tracestate,
           o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) AS bytes,
           COALESCE(o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) > c.most, FALSE) AS too_large
    FROM JSON_TABLE(?1, '$[*]' COLUMNS (
             place FOR ORDINALITY, id bigint PATH '$[0]', revision integer PATH '$[1]')) sent
    STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
    LEFT JOIN JSON_TABLE(?2, '$[*]' COLUMNS (
             name varchar(64) CHARACTER SET utf8mb4 PATH '$.name', most bigint PATH '$.max_message_bytes')) c
           ON c.name = o.channel
) sized
