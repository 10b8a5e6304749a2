-- What rows that ended say of themselves in the targets of their outcomes.
SELECT o.id, o.idempotency_key, o.channel, o.tenant
FROM json_each(?1) AS ended JOIN outbox o ON o.id = ended.value
