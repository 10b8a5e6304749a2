  -- The conditions of a filter of messages, behind which rows are looked at.
  AND (?2 IS NULL OR o.status = ?2) AND (?3 IS NULL OR o.channel = ?3) AND (?4 IS NULL OR o.destination = ?4)
  AND (?5 IS NULL OR o.ordering_key = ?5) AND (?6 IS NULL OR o.priority = ?6)
  AND (?7 IS NULL OR o.created_at >= ?7 / 1000) AND (?8 IS NULL OR o.created_at <= ?8 / 1000)
  AND (?10 IS NULL OR o.target = ?10)
  AND (?11 IS NULL OR substr(o.idempotency_key, 1, length(?11)) = ?11)
  AND (?12 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?12) EXCEPT SELECT key, value FROM json_each(o.tags)))
  AND (?13 IS NULL OR coalesce(o.tenant, o.destination) = ?13)
  AND (?14 IS NULL OR instr(lower(o.last_error), lower(?14)) > 0)
ORDER BY o.id DESC LIMIT ?9
