-- Rows deferred because nobody had configured their channel become due again where somebody has now; rows of
-- a pause that is still on keep waiting.
UPDATE outbox o SET available_at = o.deferred_from, deferred_from = NULL
WHERE o.deferred_from IS NOT NULL AND o.status = 'PENDING' AND o.shard = $1 AND o.channel = ANY ($2)
  AND NOT EXISTS (SELECT FROM outbox_destination d
                  WHERE d.destination IN (o.destination, o.channel) AND d.paused_until > now())
