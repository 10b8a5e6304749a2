-- The reason of a pause that is on says more.
INSERT INTO outbox_destination (destination, aside_until, reason)
SELECT value ->> 'destination', CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + (value ->> 'ms'), value ->> 'reason'
FROM json_each(?1) WHERE true
ON CONFLICT (destination) DO UPDATE
SET aside_until = max(coalesce(aside_until, 0), excluded.aside_until),
    reason = CASE WHEN paused_until > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) THEN reason
                  ELSE coalesce(excluded.reason, reason) END
