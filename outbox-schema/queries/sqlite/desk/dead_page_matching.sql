-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Those that meet
-- other conditions are looked for in the rows themselves.
SELECT id, dead_at * 1000 AS dead_at_us FROM (
    SELECT * FROM (SELECT id, dead_at FROM outbox INDEXED BY outbox_dead
     WHERE status = 'DEAD' AND fingerprint = ?1 AND ?2 IS NULL
       AND dead_at >= ?3 / 1000
       AND dead_at <= ?4 / 1000
       AND (dead_at < ?4 / 1000 OR id < ?5)
       AND (?7 IS NULL OR instr(lower(last_error), lower(?7)) > 0)
       AND (?8 IS NULL OR target = ?8)
       AND (?9 IS NULL OR substr(idempotency_key, 1, length(?9)) = ?9)
       AND (?10 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?10) EXCEPT SELECT key, value FROM json_each(tags)))
       AND (?11 IS NULL OR coalesce(tenant, destination) = ?11)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
    UNION ALL
    SELECT * FROM (SELECT id, dead_at FROM outbox INDEXED BY outbox_dead_destination
     WHERE status = 'DEAD' AND fingerprint = ?1 AND destination = ?2
       AND dead_at >= ?3 / 1000
       AND dead_at <= ?4 / 1000
       AND (dead_at < ?4 / 1000 OR id < ?5)
       AND (?7 IS NULL OR instr(lower(last_error), lower(?7)) > 0)
       AND (?8 IS NULL OR target = ?8)
       AND (?9 IS NULL OR substr(idempotency_key, 1, length(?9)) = ?9)
       AND (?10 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?10) EXCEPT SELECT key, value FROM json_each(tags)))
       AND (?11 IS NULL OR coalesce(tenant, destination) = ?11)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
) page ORDER BY dead_at DESC, id DESC LIMIT ?6
