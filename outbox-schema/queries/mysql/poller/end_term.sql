-- Assignments are made from left to right: the first two read what ended_because was. What is repeated adds nothing.
UPDATE outbox_term_log
SET ended_at = CASE WHEN ended_because = 'lost' THEN ended_at ELSE UTC_TIMESTAMP(6) END,
    in_doubt = COALESCE(in_doubt, 0) + CASE WHEN COALESCE(ended_because, 'lost') = 'lost' THEN ?8 ELSE 0 END,
    ended_because = ?4, claimed = ?5, delivered = ?6, failed = ?7
WHERE shard = ?1 AND epoch = ?2 AND holder = ?3
