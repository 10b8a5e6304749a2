INSERT INTO outbox_invalid_target (channel, target, reason)
SELECT o.channel, o.target, m.value ->> 'error' FROM json_each(?1) AS m CROSS JOIN outbox o ON o.id = m.value ->> 'id'
WHERE true
ON CONFLICT (channel, target) DO UPDATE SET reason = excluded.reason, observed_at = excluded.observed_at
