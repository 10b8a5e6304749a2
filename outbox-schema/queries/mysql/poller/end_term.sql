-- Assignments are made from left to right: ended_at reads what ended_because was.
UPDATE outbox_term_log
SET ended_at = CASE WHEN ended_because = 'lost' THEN ended_at ELSE UTC_TIMESTAMP(6) END,
    ended_because = ?, claimed = ?, delivered = ?, failed = ?
WHERE shard = ? AND epoch = ? AND holder = ?
