SELECT count(*) AS total FROM outbox_invalid_target
WHERE (?1 IS NULL OR channel = ?1) AND (?2 IS NULL OR target IN (SELECT value FROM json_each(?2)))
  AND (?3 IS NULL OR observed_at <= ?3 / 1000)
