-- Of the messages named, the dead letters that meet the conditions.
SELECT o.id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', o.dead_at) AS dead_at_us, o.fingerprint
FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status = 'DEAD'
WHERE TRUE
  AND (?2 IS NULL OR o.destination = ?2) AND o.dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
  AND o.dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
  AND (?5 IS NULL OR LOCATE(LOWER(?5), LOWER(o.last_error)) > 0)
  AND (?6 IS NULL OR o.target = ?6)
  AND (?7 IS NULL OR LEFT(o.idempotency_key, CHAR_LENGTH(?7)) = ?7)
  AND (?8 IS NULL OR o.tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?8), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(o.tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?8, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
  AND (?9 IS NULL OR COALESCE(o.tenant, o.destination) = ?9)
