-- Of these claims, those of which something is left to decide: its row refuses the decision.
SELECT DISTINCT c.id
FROM outbox_claim c
CROSS JOIN json_each(c.message_ids) sent
CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key AND o.status = 'PENDING'
WHERE c.id IN (SELECT value FROM json_each(?1))
