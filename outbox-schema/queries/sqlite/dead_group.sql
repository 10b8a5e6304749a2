-- How many letters one fingerprint has: of all destinations, or of one. Read from an index alone.
SELECT count(*) AS letters, coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', min(dead_at) / 1000.0, 'unixepoch'), CAST(min(dead_at) AS TEXT)) AS first_seen,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', max(dead_at) / 1000.0, 'unixepoch'), CAST(max(dead_at) AS TEXT)) AS last_seen, max(id) AS example
FROM (
    SELECT id, dead_at FROM outbox INDEXED BY outbox_dead
    WHERE status = 'DEAD' AND fingerprint = ?1 AND ?2 IS NULL
      AND dead_at >= ?3 / 1000
      AND dead_at <= ?4 / 1000
    UNION ALL
    SELECT id, dead_at FROM outbox INDEXED BY outbox_dead_destination
    WHERE status = 'DEAD' AND fingerprint = ?1 AND destination = ?2
      AND dead_at >= ?3 / 1000
      AND dead_at <= ?4 / 1000
) grouped
