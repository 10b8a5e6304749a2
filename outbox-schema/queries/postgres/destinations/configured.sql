-- Rows deferred because nobody had configured their channel, which somebody has now; rows of a pause that is still on, or put
-- aside for a while, keep waiting. Nothing is locked here, see locked.sql.
SELECT o.id FROM outbox o
WHERE o.deferred_from IS NOT NULL AND o.status = 'PENDING' AND o.shard = $1
  AND o.channel = ANY (ARRAY(SELECT json_array_elements_text($2::json)))
  AND NOT EXISTS (SELECT FROM outbox_destination d
                  WHERE d.destination IN (o.destination, o.channel)
                    AND (d.paused_until > now() OR d.aside_until > now()))
LIMIT $3
