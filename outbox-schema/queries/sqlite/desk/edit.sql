-- Stays a dead letter. Receivers refuse a key with another body, so one with another body has a new key.
UPDATE outbox SET sent_key = CASE WHEN idempotency_key = ?1 THEN sent_key END, idempotency_key = ?1, target = ?2, payload = ?3, headers = ?4, revision = revision + 1
WHERE id = ?5
