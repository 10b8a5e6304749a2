-- A shard that nobody has led yet has epoch 0.
SELECT shard, epoch, holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       CAST(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - started_at AS INTEGER) AS age_ms
FROM outbox_term t WHERE t.epoch > 0 ORDER BY t.shard
