-- What rows that ended say of themselves in the targets of their outcomes.
SELECT o.id, o.idempotency_key, o.channel, o.tenant
FROM json_array_elements_text($1::json) AS ended(id) JOIN outbox o ON o.id = ended.id::bigint
