-- What somebody paused by hand stays paused. Of two other pauses the one that ends later counts; a breaker stays one
-- until it closes, or nobody would try it carefully.
INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, failures)
SELECT value ->> 'paused', CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + (value ->> 'paused_ms'),
       'dispatcher', value ->> 'pause_kind', value ->> 'error', value ->> 'pause_kind' = 'breaker'
FROM json_each(?1) WHERE true
ON CONFLICT (destination) DO UPDATE
SET paused_until = max(coalesce(paused_until, 0), excluded.paused_until),
    paused_by = iif(paused_until > excluded.paused_until, paused_by, excluded.paused_by),
    pause_kind = CASE WHEN 'breaker' IN (pause_kind, excluded.pause_kind) THEN 'breaker'
                      WHEN paused_until > excluded.paused_until THEN pause_kind ELSE excluded.pause_kind END,
    reason = iif(paused_until > excluded.paused_until, reason, excluded.reason),
    failures = failures + excluded.failures
WHERE pause_kind IS NOT 'hand' OR paused_until IS NULL
   OR paused_until <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
