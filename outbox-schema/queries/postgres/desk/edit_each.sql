-- They stay dead letters. Receivers refuse a key with another body, so each gets a new one.
UPDATE outbox o
SET sent_key = CASE WHEN o.idempotency_key = asked.key THEN o.sent_key END, idempotency_key = asked.key, target = asked.target, headers = asked.headers::jsonb, revision = o.revision + 1
FROM json_to_recordset($1::json) AS asked(id bigint, key text, target text, headers text)
WHERE o.id = asked.id
