SELECT number, epoch, holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', claimed_at / 1000.0, 'unixepoch'), CAST(claimed_at AS TEXT)) AS claimed_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       duration_ms, outcome, status_code, error, excerpt,
       (SELECT l.instance FROM outbox o JOIN outbox_term_log l ON l.shard = o.shard AND l.epoch = a.epoch AND l.holder = a.holder
        WHERE o.id = a.message_id) AS instance
FROM outbox_attempt a WHERE message_id = ?1 ORDER BY id
