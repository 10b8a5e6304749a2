INSERT INTO outbox_term_log (shard, epoch, holder, started_at, in_doubt)
VALUES (?1, ?2, ?3, CAST(round(unixepoch('subsec') * 1000) AS INTEGER), 0)
