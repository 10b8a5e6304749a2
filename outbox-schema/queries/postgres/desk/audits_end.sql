-- The lowest of the newest ids below one, where there are so many: where a page that looks no further ends.
SELECT l.id FROM outbox_audit l WHERE ($1::bigint IS NULL OR l.id < $1) ORDER BY l.id DESC LIMIT 1 OFFSET $2
