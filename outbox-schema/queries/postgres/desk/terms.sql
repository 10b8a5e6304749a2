-- The terms behind the end of a page, the newest first, and when the next term of the same shard began.
SELECT l.shard::integer AS shard, l.epoch, l.holder, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       coalesce(to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(ended_at) #>> '{}') AS ended_at, ended_because, claimed, delivered, failed, instance, version,
       (SELECT coalesce(to_char(n.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(n.started_at) #>> '{}') FROM outbox_term_log n
        WHERE n.shard = l.shard AND n.epoch > l.epoch ORDER BY n.epoch LIMIT 1) AS next_started_at
FROM (
    SELECT last.* FROM outbox_term t
    CROSS JOIN LATERAL (
        SELECT * FROM outbox_term_log n
        WHERE n.shard = t.shard AND n.epoch <= $1::bigint AND (n.epoch < $1::bigint OR n.shard > $2::bigint)
          AND ($3::bigint IS NULL OR n.epoch = $3::bigint)
        ORDER BY n.epoch DESC LIMIT $4
    ) last
) l
ORDER BY l.epoch DESC, l.shard LIMIT $4
