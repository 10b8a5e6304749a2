-- Due rows of one priority of a lane, or (TRUE) of all lanes that share its number, behind a place or (TRUE) from the first on.
FROM outbox o FORCE INDEX (outbox_turns)
WHERE o.shard = ? AND o.turn = ? AND o.priority = ? AND o.available_at <= UTC_TIMESTAMP(6)
  AND (? OR o.available_at >= ?) AND (? OR o.available_at > ? OR o.id > ?)
  AND (? OR o.channel = ? AND COALESCE(o.tenant, o.destination) = ?)
ORDER BY o.available_at, o.id LIMIT ?
