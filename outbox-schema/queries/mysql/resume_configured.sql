-- Rows deferred because nobody had configured their channel become due again where somebody has now; rows of
-- a pause that is still on keep waiting. Assignments are made from left to right: available_at reads deferred_from.
UPDATE outbox o FORCE INDEX (outbox_deferred) SET o.available_at = o.deferred_from, o.deferred_from = NULL
WHERE o.deferred_from IS NOT NULL AND o.status = 'PENDING' AND o.shard = ?
  AND o.channel IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                        name varchar(64) CHARACTER SET utf8mb4 PATH '$.name')) c)
  AND NOT EXISTS (SELECT 1 FROM outbox_destination d
                  WHERE d.destination IN (o.destination, o.channel) AND d.paused_until > UTC_TIMESTAMP(6))
