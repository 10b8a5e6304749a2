-- Messages of a stretch of ids that have attempts and are gone: purged, deleted by somebody, or removed before a late mark
-- was refused. Looked for one by one, so that nobody reads the whole outbox for it.
SELECT DISTINCT a.message_id FROM outbox_attempt a
WHERE a.message_id > ?1 AND a.message_id <= ?2
  AND (SELECT o.id FROM outbox o WHERE o.id = a.message_id) IS NULL
LIMIT ?3
