-- Due rows of one priority, behind a place or (TRUE) from the first on. Rows and lanes may be passed over, else it says TRUE:
-- this is a filter, so the index ends the look all the same.
--
-- Looks have a branch for each priority, each ended by its LIMIT: to sort by priority would read the backlog. The index is
-- forced because an optimizer that misjudges it scans the history.
FROM outbox o FORCE INDEX (outbox_due)
WHERE o.status = 'PENDING' AND o.shard = ? AND o.ordering_key IS NULL AND o.priority = ? AND o.available_at <= UTC_TIMESTAMP(6)
  AND (? OR o.available_at >= ?) AND (? OR o.available_at > ? OR o.id > ?)
  AND (? OR o.id NOT IN (?)) AND (? OR CONCAT(o.channel, '\n', COALESCE(o.tenant, o.destination)) NOT IN (?))
ORDER BY o.available_at, o.id LIMIT ?
