-- The reason of a pause that is on says more.
INSERT INTO outbox_destination (destination, aside_until, reason)
SELECT kept.destination, now() + kept.ms * interval '1 ms', kept.reason
FROM json_to_recordset($1::json) AS kept(destination text, ms bigint, reason text) ORDER BY kept.destination
ON CONFLICT (destination) DO UPDATE
SET aside_until = greatest(outbox_destination.aside_until, excluded.aside_until),
    reason = CASE WHEN outbox_destination.paused_until > now() THEN outbox_destination.reason
                  ELSE coalesce(excluded.reason, outbox_destination.reason) END
