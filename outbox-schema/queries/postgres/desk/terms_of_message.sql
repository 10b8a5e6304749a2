-- The terms that a message has to do with: those of its attempts, the one that led when it was finished, the newest.
SELECT l.shard::integer AS shard, l.epoch, l.holder, coalesce(to_char(l.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(l.started_at) #>> '{}') AS started_at,
       coalesce(to_char(l.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(l.ended_at) #>> '{}') AS ended_at, l.ended_because, l.claimed, l.delivered, l.failed, l.instance, l.version
FROM outbox o
CROSS JOIN LATERAL (
    SELECT a.epoch FROM outbox_attempt a WHERE a.message_id = o.id
    UNION
    (SELECT e.epoch FROM outbox_term_log e WHERE e.shard = o.shard AND e.started_at <= o.finished_at
     ORDER BY e.epoch DESC LIMIT 1)
    UNION
    SELECT t.epoch FROM outbox_term t WHERE t.shard = o.shard
) meant
JOIN outbox_term_log l ON l.shard = o.shard AND l.epoch = meant.epoch
WHERE o.id = $1 ORDER BY l.epoch
