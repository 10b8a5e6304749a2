-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Those that meet
-- other conditions are looked for in the rows themselves.
SELECT id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', dead_at) AS dead_at_us FROM (
    (SELECT id, dead_at FROM outbox FORCE INDEX (outbox_dead)
     WHERE fingerprint = ?1 AND ?2 IS NULL
       AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
       AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
       AND (dead_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND OR id < ?5)
       AND (?7 IS NULL OR LOCATE(LOWER(?7), LOWER(last_error)) > 0)
       AND (?8 IS NULL OR target = ?8)
       AND (?9 IS NULL OR LEFT(idempotency_key, CHAR_LENGTH(?9)) = ?9)
       AND (?10 IS NULL OR tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?10), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?10, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
       AND (?11 IS NULL OR COALESCE(tenant, destination) = ?11)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
    UNION ALL
    (SELECT id, dead_at FROM outbox FORCE INDEX (outbox_dead_destination)
     WHERE fingerprint = ?1 AND destination = ?2
       AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
       AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
       AND (dead_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND OR id < ?5)
       AND (?7 IS NULL OR LOCATE(LOWER(?7), LOWER(last_error)) > 0)
       AND (?8 IS NULL OR target = ?8)
       AND (?9 IS NULL OR LEFT(idempotency_key, CHAR_LENGTH(?9)) = ?9)
       AND (?10 IS NULL OR tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?10), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?10, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
       AND (?11 IS NULL OR COALESCE(tenant, destination) = ?11)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
) page ORDER BY dead_at DESC, id DESC LIMIT ?6
