SELECT number, epoch, holder, coalesce(to_char(claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(claimed_at) #>> '{}') AS claimed_at, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       duration_ms, outcome, status_code, error, excerpt,
       (SELECT l.instance FROM outbox o JOIN outbox_term_log l ON l.shard = o.shard AND l.epoch = a.epoch AND l.holder = a.holder
        WHERE o.id = a.message_id) AS instance
FROM outbox_attempt a WHERE message_id = $1 ORDER BY id
