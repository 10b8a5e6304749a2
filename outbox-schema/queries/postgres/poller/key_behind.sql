-- As a claim steps from key to key, which ends at this limit.
SELECT channel, ordering_key
FROM outbox_ordered_heads($1, '{}', hashtextextended($3, hashtextextended($2, 0)), NULL) OFFSET $4 LIMIT 1
