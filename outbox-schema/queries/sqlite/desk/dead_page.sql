-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Read from an index alone.
SELECT id, dead_at * 1000 AS dead_at_us FROM (
    SELECT * FROM (SELECT id, dead_at FROM outbox INDEXED BY outbox_dead
     WHERE status = 'DEAD' AND fingerprint = ?1 AND ?2 IS NULL
       AND dead_at >= ?3 / 1000
       AND dead_at <= ?4 / 1000
       AND (dead_at < ?4 / 1000 OR id < ?5)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
    UNION ALL
    SELECT * FROM (SELECT id, dead_at FROM outbox INDEXED BY outbox_dead_destination
     WHERE status = 'DEAD' AND fingerprint = ?1 AND destination = ?2
       AND dead_at >= ?3 / 1000
       AND dead_at <= ?4 / 1000
       AND (dead_at < ?4 / 1000 OR id < ?5)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
) page ORDER BY dead_at DESC, id DESC LIMIT ?6
