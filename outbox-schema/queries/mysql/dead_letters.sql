-- The index keeps this off the primary key, where history would be read to find the last few dead letters.
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.dead_reason, o.attempts, o.last_error,
       o.last_status_code, DATE_FORMAT(o.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS created_at,
       DATE_FORMAT(o.finished_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS finished_at
FROM (SELECT CAST(? AS CHAR) AS channel, CAST(? AS CHAR) AS dead_reason, CAST(? AS CHAR) AS destination,
             CAST(? AS SIGNED) AS since_ms, CAST(? AS SIGNED) AS before_id) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (outbox_due)
WHERE o.status = 'DEAD' AND (asked.channel IS NULL OR o.channel = asked.channel)
  AND (asked.dead_reason IS NULL OR o.dead_reason = asked.dead_reason)
  AND (asked.destination IS NULL OR o.destination = asked.destination)
  AND (asked.since_ms IS NULL
       OR o.finished_at >= TIMESTAMPADD(MICROSECOND, -1000 * asked.since_ms, UTC_TIMESTAMP(6)))
  AND (asked.before_id IS NULL OR o.id < asked.before_id)
ORDER BY o.id DESC LIMIT ?
