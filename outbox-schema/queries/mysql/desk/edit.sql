-- Stays a dead letter. Receivers refuse a key with another body, so it gets a new one.
UPDATE outbox SET idempotency_key = ?, target = ?, payload = ?, headers = ?, revision = revision + 1
WHERE id = ?
