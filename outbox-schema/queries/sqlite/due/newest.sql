-- Of the newest due rows of each priority, those that were never tried. Of those that come due again there may be any number.
FROM json_each('[0, 1, 2, 3]') priority CROSS JOIN outbox o ON o.id IN (
    SELECT d.id FROM outbox d INDEXED BY outbox_due
    WHERE d.shard = ?1 AND d.status = 'PENDING' AND d.ordering_key IS NULL AND d.priority = priority.value
      AND d.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
    ORDER BY d.available_at DESC, d.id DESC LIMIT 8 * ?2)
WHERE o.first_attempt_at IS NULL
