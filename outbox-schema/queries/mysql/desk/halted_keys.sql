-- The ordering keys of a channel, behind one of them, that a dead letter halts: with that letter, the first message that waits, and
-- how many do, up to a number. Looks at so many dead letters, of all channels, and at their keys: a million of them take no longer.
--
-- No derived table can be about the row beside it in MariaDB. So the message with the highest number says whether there are more.
SELECT ?2 AS channel, halted.ordering_key, halted.dead_letter, d.dead_reason,
       DATE_FORMAT(d.dead_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS dead_at, halted.first_waiting,
       IF((SELECT w.id FROM outbox w FORCE INDEX (outbox_ordered)
           WHERE w.status = 'PENDING' AND w.shard = ?1 AND w.ordering_key = halted.ordering_key AND w.channel = ?2
           ORDER BY w.id LIMIT 1 OFFSET ?6) IS NULL,
          (SELECT COUNT(*) FROM outbox w FORCE INDEX (outbox_ordered)
           WHERE w.status = 'PENDING' AND w.shard = ?1 AND w.ordering_key = halted.ordering_key AND w.channel = ?2),
          ?6) AS waiting
FROM (
    SELECT * FROM (
        SELECT looked_at.ordering_key,
               (SELECT l.id FROM outbox l FORCE INDEX (outbox_ordered)
                WHERE l.status = 'DEAD' AND l.shard = ?1 AND l.ordering_key = looked_at.ordering_key AND l.channel = ?2
                  AND COALESCE(l.dead_reason, '') <> 'cancelled'
                ORDER BY l.id LIMIT 1) AS dead_letter,
               (SELECT w.id FROM outbox w FORCE INDEX (outbox_ordered)
                WHERE w.status = 'PENDING' AND w.shard = ?1 AND w.ordering_key = looked_at.ordering_key AND w.channel = ?2
                ORDER BY w.id LIMIT 1) AS first_waiting
        FROM (
            SELECT DISTINCT ordering_key FROM (
                SELECT ordering_key FROM outbox FORCE INDEX (outbox_ordered)
                WHERE status = 'DEAD' AND shard = ?1 AND ordering_key >= COALESCE(?3, _utf8mb4 '') AND NOT (ordering_key <=> ?3)
                ORDER BY ordering_key LIMIT ?4
            ) first
        ) looked_at
    ) keys_of_letters
    WHERE first_waiting > dead_letter
    ORDER BY ordering_key LIMIT ?5
) halted
STRAIGHT_JOIN outbox d FORCE INDEX (PRIMARY) ON d.id = halted.dead_letter
ORDER BY halted.ordering_key
