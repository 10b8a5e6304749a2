-- Nobody claims until this transaction ends.
SELECT shard
FROM outbox_term ORDER BY shard FOR UPDATE
