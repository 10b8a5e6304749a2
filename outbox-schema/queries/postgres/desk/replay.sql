-- Rows that repeat others, in the order of those, each with the key that it is given. It waits behind what its ordering key has
-- now. Whatever the table checks of a row as it is born was decided about the first: hence the revision.
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, tenant, priority, shard, revision,
                    max_attempts, available_at, traceparent, tracestate, replay_of, sent_key, tags)
SELECT asked.key, o.channel, o.target, o.payload, o.headers, o.ordering_key, o.tenant, o.priority, o.shard, 1, o.max_attempts,
       greatest(clock_timestamp(), timestamptz '1970-01-01 00:00:00+00' + asked.due_us * interval '1 microsecond'),
       o.traceparent, o.tracestate, o.id, CASE WHEN asked.same_key THEN coalesce(o.sent_key, o.idempotency_key) END, o.tags
FROM json_to_recordset($1::json) AS asked(id bigint, key text, due_us bigint, same_key boolean)
JOIN outbox o ON o.id = asked.id ORDER BY o.id
