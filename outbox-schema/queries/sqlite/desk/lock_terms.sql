-- BEGIN IMMEDIATE has locked all there is.
SELECT shard
FROM outbox_term ORDER BY shard
