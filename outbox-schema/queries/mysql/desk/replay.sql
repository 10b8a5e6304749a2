-- Rows that repeat others, in the order of those, each with the key that it is given. It waits behind what its ordering key has
-- now. Whatever the table checks of a row as it is born was decided about the first: hence the revision.
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, tenant, priority, shard, revision,
                    max_attempts, available_at, traceparent, tracestate, replay_of, sent_key, tags)
SELECT asked.idempotency_key, o.channel, o.target, o.payload, o.headers, o.ordering_key, o.tenant, o.priority, o.shard, 1,
       o.max_attempts,
       GREATEST(UTC_TIMESTAMP(6), TIMESTAMP'1970-01-01 00:00:00' + INTERVAL asked.due_us MICROSECOND),
       o.traceparent, o.tracestate, o.id, IF(asked.same_key, COALESCE(o.sent_key, o.idempotency_key), NULL), o.tags
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$.id', idempotency_key varchar(255) PATH '$.key', due_us bigint PATH '$.due_us',
                                   same_key boolean PATH '$.same_key')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id ORDER BY o.id
