-- Whether the target of a message is known to be gone.
SELECT t.id, t.channel, t.target, t.reason,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', t.observed_at / 1000.0, 'unixepoch'), CAST(t.observed_at AS TEXT)) AS observed_at
FROM outbox o JOIN outbox_invalid_target t ON t.channel = o.channel AND t.target = o.target
WHERE o.id = ?1
