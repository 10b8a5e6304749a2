  -- The conditions of a filter of messages, behind which rows are looked at.
  AND (?2 IS NULL OR o.status = ?2) AND (?3 IS NULL OR o.channel = ?3) AND (?4 IS NULL OR o.destination = ?4)
  AND (?5 IS NULL OR o.ordering_key = ?5) AND (?6 IS NULL OR o.priority = ?6)
  AND (?7 IS NULL OR o.created_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?7 MICROSECOND)
  AND (?8 IS NULL OR o.created_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?8 MICROSECOND)
  AND (?10 IS NULL OR o.target = ?10)
  AND (?11 IS NULL OR LEFT(o.idempotency_key, CHAR_LENGTH(?11)) = ?11)
  AND (?12 IS NULL OR o.tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?12), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(o.tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?12, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
  AND (?13 IS NULL OR COALESCE(o.tenant, o.destination) = ?13)
  AND (?14 IS NULL OR LOCATE(LOWER(?14), LOWER(o.last_error)) > 0)
ORDER BY o.id DESC LIMIT ?9
