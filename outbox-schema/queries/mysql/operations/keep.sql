-- Where the operation stands after a batch, in the batch's transaction.
UPDATE outbox_operation
SET place = ?2, done = ?3, changed = ?4, meant = ?5, status = ?6, failure = NULL,
    carried_until = UTC_TIMESTAMP(6) + INTERVAL (?7 * 1000) MICROSECOND,
    ended_at = CASE ?6 WHEN 'open' THEN NULL ELSE UTC_TIMESTAMP(6) END
WHERE id = ?1
