SELECT number, epoch, holder, DATE_FORMAT(claimed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS claimed_at,
       DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at, duration_ms, outcome, status_code, error,
       excerpt
FROM outbox_attempt WHERE message_id = ? ORDER BY id
