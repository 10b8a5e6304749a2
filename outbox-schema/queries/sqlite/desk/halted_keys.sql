-- The ordering keys of a channel, behind one of them, that a dead letter halts: with that letter, the first message that waits, and
-- how many do, up to a number. Looks at so many dead letters of the channel, and at their keys: a million of them take no longer.
WITH letter AS MATERIALIZED (
    SELECT ordering_key, min(id) AS id FROM (
        SELECT ordering_key, id FROM outbox INDEXED BY outbox_halting
        WHERE shard = ?1 AND channel = ?2 AND ordering_key >= coalesce(?3, '') AND ordering_key IS NOT ?3
          AND status = 'DEAD' AND ordering_key IS NOT NULL AND dead_reason IS NOT 'cancelled'
        ORDER BY ordering_key, id LIMIT ?4
    ) GROUP BY ordering_key
), halted AS MATERIALIZED (
    SELECT * FROM (
        SELECT letter.ordering_key, letter.id AS dead_letter,
               (SELECT w.id FROM outbox w INDEXED BY outbox_ordered
                WHERE w.shard = ?1 AND w.channel = ?2 AND w.ordering_key = letter.ordering_key AND w.status = 'PENDING'
                ORDER BY w.id LIMIT 1) AS first_waiting
        FROM letter
    )
    WHERE first_waiting > dead_letter
    ORDER BY ordering_key LIMIT ?5
)
SELECT ?2 AS channel, halted.ordering_key, halted.dead_letter, d.dead_reason,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', d.dead_at / 1000.0, 'unixepoch'), CAST(d.dead_at AS TEXT)) AS dead_at,
       halted.first_waiting,
       (SELECT count(*) FROM (
           SELECT 1 FROM outbox w INDEXED BY outbox_ordered
           WHERE w.shard = ?1 AND w.channel = ?2 AND w.ordering_key = halted.ordering_key AND w.status = 'PENDING'
           LIMIT ?6)) AS waiting
FROM halted CROSS JOIN outbox d ON d.id = halted.dead_letter
ORDER BY halted.ordering_key
