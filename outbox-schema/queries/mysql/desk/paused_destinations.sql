-- Destinations and channels that are paused: of all, or those of these names. What asked for its pause itself comes last.
SELECT destination, DATE_FORMAT(paused_until, '%Y-%m-%dT%H:%i:%s.%fZ') AS paused_until,
       IF(paused_until < TIMESTAMP'9999-12-31 00:00:00',
          TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000, NULL) AS remaining_ms,
       paused_by, pause_kind, reason, failures
FROM outbox_destination d
WHERE d.paused_until > UTC_TIMESTAMP(6)
  AND (?1 IS NULL OR d.destination IN (SELECT c.name FROM JSON_TABLE(?1, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c))
ORDER BY CASE d.pause_kind WHEN 'hand' THEN 0 WHEN 'barred' THEN 1 WHEN 'breaker' THEN 2 ELSE 3 END, d.destination
LIMIT ?2
