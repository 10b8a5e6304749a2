-- Assignments are made from left to right: ended_at reads what ended_because was.
UPDATE outbox_term_log
SET ended_at = CASE WHEN ended_because = 'lost' THEN ended_at ELSE UTC_TIMESTAMP(6) END,
    ended_because = ?4, claimed = ?5, delivered = ?6, failed = ?7
WHERE shard = ?1 AND epoch = ?2 AND holder = ?3
