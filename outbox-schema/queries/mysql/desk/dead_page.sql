-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Read from an index alone.
SELECT id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', dead_at) AS dead_at_us FROM (
    (SELECT id, dead_at FROM outbox FORCE INDEX (outbox_dead)
     WHERE fingerprint = ?1 AND ?2 IS NULL
       AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
       AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
       AND (dead_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND OR id < ?5)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
    UNION ALL
    (SELECT id, dead_at FROM outbox FORCE INDEX (outbox_dead_destination)
     WHERE fingerprint = ?1 AND destination = ?2
       AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
       AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
       AND (dead_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND OR id < ?5)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
) page ORDER BY dead_at DESC, id DESC LIMIT ?6
