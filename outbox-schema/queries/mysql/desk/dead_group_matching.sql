-- How many letters of one fingerprint meet other conditions: of all destinations, or of one. Looked for in the rows
-- themselves.
SELECT CAST(SUM(letters) AS SIGNED) AS letters,
       DATE_FORMAT(min(first_at), '%Y-%m-%dT%H:%i:%s.%fZ') AS first_seen,
       DATE_FORMAT(max(last_at), '%Y-%m-%dT%H:%i:%s.%fZ') AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox FORCE INDEX (outbox_dead)
    WHERE fingerprint = ?1 AND ?2 IS NULL
      AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
      AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
      AND (?5 IS NULL OR LOCATE(LOWER(?5), LOWER(last_error)) > 0)
      AND (?6 IS NULL OR target = ?6)
      AND (?7 IS NULL OR LEFT(idempotency_key, CHAR_LENGTH(?7)) = ?7)
      AND (?8 IS NULL OR tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?8), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?8, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
      AND (?9 IS NULL OR COALESCE(tenant, destination) = ?9)
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox FORCE INDEX (outbox_dead_destination)
    WHERE fingerprint = ?1 AND destination = ?2
      AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
      AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
      AND (?5 IS NULL OR LOCATE(LOWER(?5), LOWER(last_error)) > 0)
      AND (?6 IS NULL OR target = ?6)
      AND (?7 IS NULL OR LEFT(idempotency_key, CHAR_LENGTH(?7)) = ?7)
      AND (?8 IS NULL OR tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?8), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?8, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
      AND (?9 IS NULL OR COALESCE(tenant, destination) = ?9)
) grouped
