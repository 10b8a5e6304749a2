-- Nobody claims until this transaction ends.
SELECT shard::integer
FROM outbox_term ORDER BY shard FOR UPDATE
