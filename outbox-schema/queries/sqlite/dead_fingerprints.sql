-- Which there are, and when the last letter of each died up to then: by stepping from one to the next in the index.
WITH RECURSIVE walk(fingerprint) AS (
    SELECT * FROM (SELECT fingerprint FROM outbox INDEXED BY outbox_dead WHERE status = 'DEAD'
                   ORDER BY fingerprint LIMIT 1)
    UNION ALL
    SELECT (SELECT o.fingerprint FROM outbox o INDEXED BY outbox_dead
            WHERE o.status = 'DEAD' AND o.fingerprint > walk.fingerprint ORDER BY o.fingerprint LIMIT 1)
    FROM walk WHERE walk.fingerprint IS NOT NULL
)
SELECT fingerprint, last_us FROM (
    SELECT fingerprint, 1000 * (SELECT max(o.dead_at) FROM outbox o INDEXED BY outbox_dead
                                WHERE o.status = 'DEAD' AND o.fingerprint = walk.fingerprint AND o.dead_at <= ?1 / 1000
                               ) AS last_us
    FROM walk WHERE fingerprint IS NOT NULL
) WHERE last_us IS NOT NULL ORDER BY last_us DESC
