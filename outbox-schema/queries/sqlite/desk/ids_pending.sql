-- What waits, as long as that is little: the two indexes of the poll hold nothing else.
SELECT id FROM outbox INDEXED BY outbox_due WHERE status = 'PENDING' AND ordering_key IS NULL
UNION ALL
SELECT id FROM outbox INDEXED BY outbox_ordered WHERE status = 'PENDING' AND ordering_key IS NOT NULL
LIMIT ?1
