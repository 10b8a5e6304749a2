-- Of the messages named, those that a filter means, the newest first.
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.ordering_key, o.priority, o.status,
       o.dead_reason, o.attempts, DATE_FORMAT(o.available_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS available_at,
       DATE_FORMAT(o.deferred_from, '%Y-%m-%dT%H:%i:%s.%fZ') AS deferred_from,
       DATE_FORMAT(o.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS created_at,
       DATE_FORMAT(o.first_attempt_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS first_attempt_at,
       DATE_FORMAT(o.finished_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS finished_at, o.last_error, o.last_status_code, o.replay_of
FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
WHERE TRUE
