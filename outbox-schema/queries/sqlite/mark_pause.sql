INSERT INTO outbox_destination (destination, paused_until, paused_by, reason, failures)
SELECT value ->> 'paused', max(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + (value ->> 'after_ms')),
       'dispatcher', max(value ->> 'error'), 1
FROM json_each(?1) GROUP BY value ->> 'paused'
ON CONFLICT (destination) DO UPDATE
SET paused_until = excluded.paused_until, paused_by = excluded.paused_by, reason = excluded.reason,
    failures = failures + 1
