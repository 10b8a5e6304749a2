-- Rows deferred because nobody had configured their channel, which somebody has now; rows of a pause that is still on, or put
-- aside for a while, keep waiting.
SELECT o.id FROM outbox o INDEXED BY outbox_deferred
WHERE o.deferred_from IS NOT NULL AND o.status = 'PENDING' AND o.shard = ?1
  AND o.channel IN (SELECT value FROM json_each(?2))
  AND NOT EXISTS (SELECT 1 FROM outbox_destination d
                  WHERE d.destination IN (o.destination, o.channel)
                    AND max(coalesce(d.paused_until, 0), coalesce(d.aside_until, 0))
                        > CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
LIMIT ?3
