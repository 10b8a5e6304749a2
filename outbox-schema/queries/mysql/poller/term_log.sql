INSERT INTO outbox_term_log (shard, epoch, holder, started_at, in_doubt) VALUES (?, ?, ?, UTC_TIMESTAMP(6), 0)
