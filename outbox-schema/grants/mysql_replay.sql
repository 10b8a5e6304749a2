-- The right of an operator to replay on MySQL and MariaDB, `outbox messages replay`, beside those of mysql_operator.sql. Replace
--   OPERATOR  by their account, as 'support'@'%'
-- and run it in the database that holds the tables, after `outbox migrate`, for example
--   sed "s/OPERATOR/'support'@'%'/" mysql_replay.sql | mariadb shop
-- It is a right of its own: a replay is a new row, so whoever has it can write any message.

GRANT INSERT (idempotency_key, channel, target, payload, headers, ordering_key, tenant, priority, shard, revision, max_attempts,
              available_at, traceparent, tracestate, replay_of, sent_key, tags)
    ON outbox TO OPERATOR;
