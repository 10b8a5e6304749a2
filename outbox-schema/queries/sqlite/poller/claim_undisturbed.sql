-- Whoever claims has locked the file: no cancellation is open.
SELECT shard FROM outbox_term WHERE shard = ?1
