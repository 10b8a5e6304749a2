-- They stay dead letters. Receivers refuse a key with another body, so each gets a new one.
UPDATE outbox o
SET idempotency_key = asked.key, target = asked.target, headers = asked.headers::jsonb, revision = o.revision + 1
FROM json_to_recordset($1::json) AS asked(id bigint, key text, target text, headers text)
WHERE o.id = asked.id
