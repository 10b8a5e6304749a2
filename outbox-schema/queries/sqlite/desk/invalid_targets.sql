-- Targets that are known to be gone, the last recorded first.
SELECT id, channel, target, reason,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', observed_at / 1000.0, 'unixepoch'), CAST(observed_at AS TEXT)) AS observed_at
FROM outbox_invalid_target
WHERE (?1 IS NULL OR channel = ?1) AND (?2 IS NULL OR target IN (SELECT value FROM json_each(?2)))
  AND (?3 IS NULL OR observed_at <= ?3 / 1000) AND id < ?4
ORDER BY id DESC LIMIT ?5
