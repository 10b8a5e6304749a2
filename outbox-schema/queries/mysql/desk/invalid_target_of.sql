-- Whether the target of a message is known to be gone.
SELECT t.id, t.channel, t.target, t.reason, DATE_FORMAT(t.observed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS observed_at
FROM outbox o
JOIN outbox_invalid_target t
  ON t.channel = o.channel AND t.target_hash = SHA2(o.target, 256) AND t.target = o.target
WHERE o.id = ?
