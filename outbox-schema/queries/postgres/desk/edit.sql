-- Stays a dead letter. Receivers refuse a key with another body, so it gets a new one.
UPDATE outbox SET idempotency_key = $1, target = $2, payload = $3::jsonb, headers = $4::jsonb, revision = revision + 1
WHERE id = $5
