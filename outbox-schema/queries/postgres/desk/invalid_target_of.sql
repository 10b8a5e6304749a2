-- Whether the target of a message is known to be gone.
SELECT t.id, t.channel, t.target, t.reason, coalesce(to_char(t.observed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(t.observed_at) #>> '{}') AS observed_at
FROM outbox o JOIN outbox_invalid_target t
  ON t.channel = o.channel AND md5(t.target) = md5(o.target) AND t.target = o.target
WHERE o.id = $1
