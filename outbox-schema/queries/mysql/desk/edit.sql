-- Stays a dead letter. Receivers refuse a key with another body, so one with another body has a new key.
UPDATE outbox SET idempotency_key = ?, target = ?, payload = ?, headers = ?, revision = revision + 1
WHERE id = ?
