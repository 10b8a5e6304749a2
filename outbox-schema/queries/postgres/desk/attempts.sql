SELECT number, epoch, holder, coalesce(to_char(claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(claimed_at) #>> '{}') AS claimed_at, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       duration_ms, outcome, status_code, error, excerpt
FROM outbox_attempt WHERE message_id = $1 ORDER BY id
