-- Rows deferred because nobody had configured their channel become due again where somebody has now; rows of
-- a pause that is still on, or put aside for a while, keep waiting. What is being cancelled must not keep the term from beginning.
WITH free AS MATERIALIZED (
    SELECT o.id FROM outbox o
    WHERE o.deferred_from IS NOT NULL AND o.status = 'PENDING' AND o.shard = $1 AND o.channel = ANY ($2)
      AND NOT EXISTS (SELECT FROM outbox_destination d
                      WHERE d.destination IN (o.destination, o.channel)
                        AND (d.paused_until > now() OR d.aside_until > now()))
    FOR NO KEY UPDATE OF o SKIP LOCKED
)
UPDATE outbox o SET available_at = o.deferred_from, deferred_from = NULL
FROM free WHERE o.id = free.id AND o.status = 'PENDING' AND o.deferred_from IS NOT NULL
