-- Of the messages named, those that a filter means, the newest first.
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.ordering_key, o.priority, o.status,
       o.dead_reason, o.attempts,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.available_at / 1000.0, 'unixepoch'), CAST(o.available_at AS TEXT)) AS available_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.deferred_from / 1000.0, 'unixepoch'), CAST(o.deferred_from AS TEXT)) AS deferred_from,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.created_at / 1000.0, 'unixepoch'), CAST(o.created_at AS TEXT)) AS created_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.finished_at / 1000.0, 'unixepoch'), CAST(o.finished_at AS TEXT)) AS finished_at,
       o.last_error, o.last_status_code, o.replay_of
FROM outbox o
WHERE o.id IN (SELECT value FROM json_each(?1))
  AND (?2 IS NULL OR o.status = ?2) AND (?3 IS NULL OR o.channel = ?3) AND (?4 IS NULL OR o.destination = ?4)
  AND (?5 IS NULL OR o.ordering_key = ?5) AND (?6 IS NULL OR o.priority = ?6)
  AND (?7 IS NULL OR o.created_at >= ?7 / 1000) AND (?8 IS NULL OR o.created_at <= ?8 / 1000)
  AND (?10 IS NULL OR o.target = ?10)
  AND (?11 IS NULL OR substr(o.idempotency_key, 1, length(?11)) = ?11)
  AND (?12 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?12) EXCEPT SELECT key, value FROM json_each(o.tags)))
  AND (?13 IS NULL OR coalesce(o.tenant, o.destination) = ?13)
ORDER BY o.id DESC LIMIT ?9
