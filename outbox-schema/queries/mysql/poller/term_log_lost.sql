UPDATE outbox_term_log SET ended_at = UTC_TIMESTAMP(6), ended_because = 'lost'
WHERE shard = ? AND epoch = ? AND ended_at IS NULL
