-- What an edit of many may change of the asked, which is not their payload. Their rows are locked by now.
SELECT o.id, o.idempotency_key, o.channel, o.target, CAST(o.headers AS CHAR) AS headers, o.revision
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
