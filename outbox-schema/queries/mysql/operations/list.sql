-- Operations below an id, the newest first.
SELECT o.id, o.action, a.who, a.why, CAST(a.details AS CHAR) AS details, o.status, o.meant, o.done, o.changed,
       DATE_FORMAT(o.began_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS began_at, DATE_FORMAT(o.ended_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS ended_at,
       TIMESTAMPDIFF(MICROSECOND, o.began_at, coalesce(o.ended_at, UTC_TIMESTAMP(6))) DIV 1000 AS lasted_ms,
       CASE WHEN o.status = 'open' AND (o.carried_until IS NULL OR o.carried_until < UTC_TIMESTAMP(6)) THEN 1 ELSE 0 END AS waits,
       o.failure
FROM outbox_operation o
LEFT JOIN outbox_audit a FORCE INDEX (PRIMARY) ON a.id = o.id
WHERE (?1 IS NULL OR o.id < ?1)
ORDER BY o.id DESC LIMIT ?2
