-- How many letters one fingerprint has: of all destinations, or of one. Read from an index alone.
SELECT CAST(SUM(letters) AS SIGNED) AS letters,
       DATE_FORMAT(min(first_at), '%Y-%m-%dT%H:%i:%s.%fZ') AS first_seen,
       DATE_FORMAT(max(last_at), '%Y-%m-%dT%H:%i:%s.%fZ') AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox FORCE INDEX (outbox_dead)
    WHERE fingerprint = ?1 AND ?2 IS NULL
      AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
      AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox FORCE INDEX (outbox_dead_destination)
    WHERE fingerprint = ?1 AND destination = ?2
      AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
      AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
) grouped
