-- They stay dead letters. Receivers refuse a key with another body, so each gets a new one.
UPDATE outbox AS o
SET sent_key = CASE WHEN o.idempotency_key = asked.key THEN o.sent_key END, idempotency_key = asked.key, target = asked.target, headers = asked.headers, revision = o.revision + 1
FROM (SELECT value ->> 'id' AS id, value ->> 'key' AS key, value ->> 'target' AS target, value ->> 'headers' AS headers
      FROM json_each(?1)) AS asked
WHERE o.id = asked.id
