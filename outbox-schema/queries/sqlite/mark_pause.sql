-- What somebody paused by hand stays paused.
INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, failures)
SELECT value ->> 'paused', max(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + (value ->> 'paused_ms')),
       'dispatcher', max(value ->> 'pause_kind'), max(value ->> 'error'), 1
FROM json_each(?1) WHERE true GROUP BY value ->> 'paused'
ON CONFLICT (destination) DO UPDATE
SET paused_until = excluded.paused_until, paused_by = excluded.paused_by, pause_kind = excluded.pause_kind,
    reason = excluded.reason, failures = failures + 1
WHERE pause_kind IS NOT 'hand' OR paused_until IS NULL
   OR paused_until <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
