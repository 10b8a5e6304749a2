-- How many letters of one fingerprint meet other conditions: of all destinations, or of one. Looked for in the rows
-- themselves.
SELECT sum(letters) AS letters,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', min(first_at) / 1000.0, 'unixepoch'), CAST(min(first_at) AS TEXT)) AS first_seen,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', max(last_at) / 1000.0, 'unixepoch'), CAST(max(last_at) AS TEXT)) AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox INDEXED BY outbox_dead
    WHERE status = 'DEAD' AND fingerprint = ?1 AND ?2 IS NULL
      AND dead_at >= ?3 / 1000
      AND dead_at <= ?4 / 1000
      AND (?5 IS NULL OR instr(lower(last_error), lower(?5)) > 0)
      AND (?6 IS NULL OR target = ?6)
      AND (?7 IS NULL OR substr(idempotency_key, 1, length(?7)) = ?7)
      AND (?8 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?8) EXCEPT SELECT key, value FROM json_each(tags)))
      AND (?9 IS NULL OR coalesce(tenant, destination) = ?9)
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox INDEXED BY outbox_dead_destination
    WHERE status = 'DEAD' AND fingerprint = ?1 AND destination = ?2
      AND dead_at >= ?3 / 1000
      AND dead_at <= ?4 / 1000
      AND (?5 IS NULL OR instr(lower(last_error), lower(?5)) > 0)
      AND (?6 IS NULL OR target = ?6)
      AND (?7 IS NULL OR substr(idempotency_key, 1, length(?7)) = ?7)
      AND (?8 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?8) EXCEPT SELECT key, value FROM json_each(tags)))
      AND (?9 IS NULL OR coalesce(tenant, destination) = ?9)
) grouped
