INSERT INTO outbox_term_log (shard, epoch, holder, started_at) VALUES (?, ?, ?, UTC_TIMESTAMP(6))
