-- Forgets these destinations, where still nothing of what is kept of them has been true for a day.
DELETE d FROM JSON_TABLE(?, '$[*]' COLUMNS (
    name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS asked
STRAIGHT_JOIN outbox_destination d FORCE INDEX (PRIMARY) ON d.destination = asked.name
WHERE GREATEST(COALESCE(paused_until, TIMESTAMP'1000-01-01 00:00:00'), COALESCE(aside_until, TIMESTAMP'1000-01-01 00:00:00'),
               COALESCE(ramp_from, TIMESTAMP'1000-01-01 00:00:00'), COALESCE(last_sent_at, TIMESTAMP'1000-01-01 00:00:00'),
               COALESCE(by_hand_at, TIMESTAMP'1000-01-01 00:00:00')) < UTC_TIMESTAMP(6) - INTERVAL 1 DAY
