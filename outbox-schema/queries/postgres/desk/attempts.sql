SELECT number, epoch, holder, to_json(claimed_at) #>> '{}' AS claimed_at, to_json(started_at) #>> '{}' AS started_at,
       duration_ms, outcome, status_code, error, excerpt
FROM outbox_attempt WHERE message_id = $1 ORDER BY id
