-- Whether messages with an ordering key wait.
SELECT EXISTS (SELECT 1 FROM outbox o INDEXED BY outbox_ordered
               WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NOT NULL)
