-- Rows in doubt and what their channel's policy makes of them.
SELECT o.id AS message_id, o.destination, min(o.attempts + 1, 32767) AS number, c.id AS claim, c.epoch, c.holder,
       c.gate_closed_at IS NULL AS crashed,
       -- Only where both its claimer and this poller would; one of them may not know the channel.
       coalesce(policy.value ->> 'resend', 1) AND o.channel NOT IN (SELECT value FROM json_each(c.at_most_once)) AS resend,
       coalesce(o.attempts + 1 >= coalesce(o.max_attempts, policy.value ->> 'max_attempts'), 0) AS used_up
FROM outbox_claim c
CROSS JOIN json_each(c.message_ids) sent
CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key AND o.status = 'PENDING'
LEFT JOIN json_each(?2) policy ON policy.value ->> 'name' = o.channel
WHERE c.id IN (SELECT value FROM json_each(?1))
