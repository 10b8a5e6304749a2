SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.dead_reason, o.attempts, o.last_error,
       o.last_status_code, o.fingerprint, o.ordering_key,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.created_at / 1000.0, 'unixepoch'), CAST(o.created_at AS TEXT)) AS created_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.dead_at / 1000.0, 'unixepoch'), CAST(o.dead_at AS TEXT)) AS dead_at,
       o.dead_at * 1000 AS dead_at_us
FROM outbox o WHERE o.id IN (SELECT value FROM json_each(?1)) AND o.status = 'DEAD'
ORDER BY o.dead_at DESC, o.id DESC
