-- The reason of an operation stands in its own entry.
SELECT a.id, DATE_FORMAT(a.at, '%Y-%m-%dT%H:%i:%s.%fZ') AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, CAST(a.details AS CHAR) AS details, a.part_of
FROM outbox_audit a LEFT JOIN outbox_audit whole FORCE INDEX (PRIMARY) ON whole.id = a.part_of
WHERE a.message_id = ? ORDER BY a.id
