-- Of the messages named, the dead letters that meet the conditions.
SELECT o.id, o.dead_at * 1000 AS dead_at_us, o.fingerprint
FROM outbox o
WHERE o.id IN (SELECT value FROM json_each(?1)) AND o.status = 'DEAD'
  AND (?2 IS NULL OR o.destination = ?2) AND o.dead_at >= ?3 / 1000
  AND o.dead_at <= ?4 / 1000
  AND (?5 IS NULL OR instr(lower(o.last_error), lower(?5)) > 0)
  AND (?6 IS NULL OR o.target = ?6)
  AND (?7 IS NULL OR substr(o.idempotency_key, 1, length(?7)) = ?7)
  AND (?8 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?8) EXCEPT SELECT key, value FROM json_each(o.tags)))
  AND (?9 IS NULL OR coalesce(o.tenant, o.destination) = ?9)
