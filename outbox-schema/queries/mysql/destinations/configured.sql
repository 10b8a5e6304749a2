-- Rows deferred because nobody had configured their channel, which somebody has now; rows of a pause that is still on, or put
-- aside for a while, keep waiting. Nothing is locked here, see locked.sql.
SELECT o.id FROM outbox o FORCE INDEX (outbox_deferred)
WHERE o.deferred_from IS NOT NULL AND o.status = 'PENDING' AND o.shard = ?1
  AND o.channel IN (SELECT c.name FROM JSON_TABLE(?2, '$[*]' COLUMNS (
                        name varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
  AND NOT EXISTS (SELECT 1 FROM outbox_destination d
                  WHERE d.destination IN (o.destination, o.channel)
                    AND (d.paused_until > UTC_TIMESTAMP(6) OR d.aside_until > UTC_TIMESTAMP(6)))
LIMIT ?3
