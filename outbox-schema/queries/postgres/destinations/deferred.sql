-- Deferred rows of a destination or channel: of one shard, or of all. No channel has the name of a URL. Nothing is locked here,
-- see locked.sql.
SELECT id FROM outbox
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND ($1::bigint IS NULL OR shard = $1) AND destination = $2
UNION ALL
SELECT id FROM outbox
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND ($1::bigint IS NULL OR shard = $1)
  AND strpos($2, ':') = 0 AND channel = $2 AND destination <> $2
LIMIT $3
