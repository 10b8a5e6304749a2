-- The ordering keys of a channel, behind one of them, that a dead letter halts: with that letter, the first message that waits, and
-- how many do, up to a number. Looks at so many dead letters of the channel, and at their keys: a million of them take no longer.
WITH letter AS MATERIALIZED (
    SELECT ordering_key, min(id) AS id FROM (
        SELECT ordering_key, id FROM outbox
        WHERE shard = $1 AND channel = $2 AND ordering_key >= coalesce($3, '') AND ordering_key IS DISTINCT FROM $3
          AND status = 'DEAD' AND ordering_key IS NOT NULL AND dead_reason IS DISTINCT FROM 'cancelled'
        ORDER BY ordering_key, id LIMIT $4
    ) looked_at GROUP BY ordering_key
), halted AS MATERIALIZED (
    SELECT letter.ordering_key, letter.id AS dead_letter, head.id AS first_waiting
    FROM letter CROSS JOIN LATERAL (
        SELECT w.id FROM outbox w
        WHERE w.shard = $1 AND w.channel = $2 AND w.ordering_key = letter.ordering_key AND w.status = 'PENDING'
          AND hashtextextended(w.ordering_key, hashtextextended(w.channel, 0))
            = hashtextextended(letter.ordering_key, hashtextextended($2, 0))
        ORDER BY w.id LIMIT 1
    ) head
    WHERE head.id > letter.id
    ORDER BY letter.ordering_key LIMIT $5
)
SELECT $2 AS channel, halted.ordering_key, halted.dead_letter, d.dead_reason,
       coalesce(to_char(d.dead_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(d.dead_at) #>> '{}') AS dead_at,
       halted.first_waiting,
       (SELECT count(*) FROM (
           SELECT FROM outbox w
           WHERE w.shard = $1 AND w.channel = $2 AND w.ordering_key = halted.ordering_key AND w.status = 'PENDING'
             AND hashtextextended(w.ordering_key, hashtextextended(w.channel, 0))
               = hashtextextended(halted.ordering_key, hashtextextended($2, 0))
           LIMIT $6) behind) AS waiting
FROM halted JOIN outbox d ON d.id = halted.dead_letter
ORDER BY halted.ordering_key
