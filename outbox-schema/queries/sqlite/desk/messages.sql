-- Of the messages named, those that a filter means, the newest first.
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.ordering_key, o.priority, o.status,
       o.dead_reason, o.attempts,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.available_at / 1000.0, 'unixepoch'), CAST(o.available_at AS TEXT)) AS available_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.deferred_from / 1000.0, 'unixepoch'), CAST(o.deferred_from AS TEXT)) AS deferred_from,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.created_at / 1000.0, 'unixepoch'), CAST(o.created_at AS TEXT)) AS created_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.first_attempt_at / 1000.0, 'unixepoch'), CAST(o.first_attempt_at AS TEXT)) AS first_attempt_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.finished_at / 1000.0, 'unixepoch'), CAST(o.finished_at AS TEXT)) AS finished_at,
       o.last_error, o.last_status_code, o.replay_of
FROM outbox o
WHERE o.id IN (SELECT value FROM json_each(?1))
