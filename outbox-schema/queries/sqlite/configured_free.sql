-- Rows deferred because nobody had configured their channel become due again where somebody has now; rows of
-- a pause that is still on, or put aside for a while, keep waiting.
UPDATE outbox AS o INDEXED BY outbox_deferred SET available_at = deferred_from, deferred_from = NULL
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND shard = ?1
  AND channel IN (SELECT value ->> 'name' FROM json_each(?2))
  AND NOT EXISTS (SELECT 1 FROM outbox_destination d
                  WHERE d.destination IN (o.destination, o.channel)
                    AND max(coalesce(d.paused_until, 0), coalesce(d.aside_until, 0))
                        > CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
