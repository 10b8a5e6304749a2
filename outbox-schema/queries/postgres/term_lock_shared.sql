-- Whoever is frozen while it holds this row must not keep the next poller from its term: the server ends such a transaction.
SELECT epoch, holder, set_config('idle_in_transaction_session_timeout', '1s', true) AS until
FROM outbox_term WHERE shard = $1::bigint FOR SHARE
