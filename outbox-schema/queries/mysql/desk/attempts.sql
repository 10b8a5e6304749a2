SELECT number, epoch, holder, DATE_FORMAT(claimed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS claimed_at,
       DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at, duration_ms, outcome, status_code, error,
       excerpt,
       (SELECT l.instance FROM outbox o FORCE INDEX (PRIMARY)
        STRAIGHT_JOIN outbox_term_log l ON l.shard = o.shard AND l.epoch = a.epoch AND l.holder = a.holder
        WHERE o.id = a.message_id) AS instance
FROM outbox_attempt a WHERE message_id = ? ORDER BY id
