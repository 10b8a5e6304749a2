-- What an edit may change of the asked. Their rows are locked by now. No payload is read that is larger than one may be.
SELECT o.id, o.idempotency_key, o.channel, o.target, CASE WHEN o.payload_bytes <= ?2 THEN CAST(o.payload AS CHAR) END AS payload, CAST(o.headers AS CHAR) AS headers,
       o.revision
FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
