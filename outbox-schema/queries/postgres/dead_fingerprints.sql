-- Which there are, and when the last letter of each died up to then: by stepping from one to the next in the index.
WITH RECURSIVE walk AS (
    (SELECT fingerprint FROM outbox WHERE status = 'DEAD' ORDER BY fingerprint LIMIT 1)
    UNION ALL
    SELECT (SELECT o.fingerprint FROM outbox o WHERE o.status = 'DEAD' AND o.fingerprint > walk.fingerprint
            ORDER BY o.fingerprint LIMIT 1)
    FROM walk WHERE walk.fingerprint IS NOT NULL
)
SELECT walk.fingerprint, (extract(epoch FROM newest.dead_at) * 1000000)::bigint AS last_us
FROM walk CROSS JOIN LATERAL (
    SELECT o.dead_at FROM outbox o
    WHERE o.status = 'DEAD' AND o.fingerprint = walk.fingerprint
      AND o.dead_at <= timestamptz '1970-01-01 00:00:00+00' + $1::bigint * interval '1 microsecond'
    ORDER BY o.fingerprint DESC, o.dead_at DESC LIMIT 1) newest
ORDER BY last_us DESC
