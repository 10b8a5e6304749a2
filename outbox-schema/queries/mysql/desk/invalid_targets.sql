-- Targets that are known to be gone, the last recorded first.
SELECT id, channel, target, reason, DATE_FORMAT(observed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS observed_at
FROM outbox_invalid_target
WHERE (?1 IS NULL OR channel = ?1)
  AND (?2 IS NULL OR target IN (SELECT asked.target FROM JSON_TABLE(?2, '$[*]' COLUMNS (
                                    target text CHARACTER SET utf8mb4 PATH '$')) AS asked))
  AND (?3 IS NULL OR observed_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND)
  AND id < ?4
ORDER BY id DESC LIMIT ?5
