INSERT INTO outbox_term (shard, epoch, holder, started_at) VALUES (?1, 0, '', CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
ON CONFLICT (shard) DO NOTHING
