-- What has a key that begins so, as long as it is little. A range would not do: a shorter text is filled up with spaces where texts are
-- compared.
SELECT id FROM outbox FORCE INDEX (outbox_idempotency_key)
WHERE idempotency_key LIKE CONCAT(REPLACE(REPLACE(REPLACE(?1, '|', '||'), '%', '|%'), '_', '|_'), '%') ESCAPE '|' LIMIT ?3
