-- Where the operation stands after a batch, in the batch's transaction.
UPDATE outbox_operation
SET place = ?2, done = ?3, changed = ?4, meant = ?5, status = ?6, failure = NULL,
    carried_until = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?7,
    ended_at = CASE ?6 WHEN 'open' THEN NULL ELSE CAST(round(unixepoch('subsec') * 1000) AS INTEGER) END
WHERE id = ?1
