-- Operations below an id, the newest first.
SELECT o.id, o.action, a.who, a.why, a.details AS details, o.status, o.meant, o.done, o.changed,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.began_at / 1000.0, 'unixepoch') AS began_at, strftime('%Y-%m-%dT%H:%M:%fZ', o.ended_at / 1000.0, 'unixepoch') AS ended_at,
       coalesce(o.ended_at, CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) - o.began_at AS lasted_ms,
       CASE WHEN o.status = 'open' AND (o.carried_until IS NULL OR o.carried_until < CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) THEN 1 ELSE 0 END AS waits,
       o.failure
FROM outbox_operation o
LEFT JOIN outbox_audit a ON a.id = o.id
WHERE (?1 IS NULL OR o.id < ?1)
ORDER BY o.id DESC LIMIT ?2
