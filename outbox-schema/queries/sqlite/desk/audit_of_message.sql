-- The reason of an operation stands in its own entry.
SELECT a.id, coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', a.at / 1000.0, 'unixepoch'), CAST(a.at AS TEXT)) AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, a.details AS details, a.part_of
FROM outbox_audit a LEFT JOIN outbox_audit whole ON whole.id = a.part_of
WHERE a.message_id = ?1 ORDER BY a.id
