-- name: aside_clear
-- A pause by hand is not the poller's to end. Assignments are made from left to right: a kind that is not kept is NULL for
-- those after it.
UPDATE outbox_destination
SET aside_until = NULL,
    pause_kind = IF(pause_kind <=> 'hand' AND paused_until > UTC_TIMESTAMP(6), pause_kind, NULL),
    failures = IF(pause_kind IS NULL, 0, failures),
    reason = IF(pause_kind IS NULL, NULL, reason),
    paused_by = IF(pause_kind IS NULL, NULL, paused_by),
    paused_until = IF(pause_kind IS NULL, NULL, paused_until)
WHERE destination = ?

-- name: aside_keep
-- The reason of a pause that is on says more.
INSERT INTO outbox_destination (destination, aside_until, reason)
SELECT kept.destination, UTC_TIMESTAMP(6) + INTERVAL 1000 * kept.ms MICROSECOND, kept.reason
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    destination varchar(255) CHARACTER SET utf8mb4 PATH '$.destination', ms bigint PATH '$.ms',
    reason text CHARACTER SET utf8mb4 PATH '$.reason')) kept
ORDER BY kept.destination
ON DUPLICATE KEY UPDATE
    aside_until = GREATEST(COALESCE(aside_until, VALUES(aside_until)), VALUES(aside_until)),
    reason = IF(paused_until > UTC_TIMESTAMP(6), outbox_destination.reason,
                COALESCE(VALUES(reason), outbox_destination.reason))

-- name: aside_put
-- Where rows are updated in place, assignments are made from left to right: deferred_from reads what available_at was.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$.id', ms bigint PATH '$.ms')) put
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = put.id AND o.status = 'PENDING'
SET o.deferred_from = COALESCE(o.deferred_from, o.available_at),
    o.available_at = UTC_TIMESTAMP(6) + INTERVAL 1000 * put.ms MICROSECOND

-- name: bring_back
-- Due again when they were. Assignments are made from left to right: available_at reads deferred_from.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
SET o.available_at = o.deferred_from, o.deferred_from = NULL

-- name: changes_by_hand
-- What people changed within the last minute, and what holds these destinations now: somebody may have resumed one, and then an
-- answer paused it anew.
SELECT destination, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', by_hand_at) AS stamp, pause_kind,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000 AS paused_ms, failures
FROM outbox_destination WHERE by_hand_at > UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE

-- name: configured
-- Rows deferred because nobody had configured their channel, which somebody has now; rows of a pause that is still on, or put
-- aside for a while, keep waiting. Nothing is locked here, see `locked`.
SELECT o.id FROM outbox o FORCE INDEX (outbox_deferred)
WHERE o.deferred_from IS NOT NULL AND o.status = 'PENDING' AND o.shard = ?1
  AND o.channel IN (SELECT c.name FROM JSON_TABLE(?2, '$[*]' COLUMNS (
                        name varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
  AND NOT EXISTS (SELECT 1 FROM outbox_destination d
                  WHERE d.destination IN (o.destination, o.channel)
                    AND (d.paused_until > UTC_TIMESTAMP(6) OR d.aside_until > UTC_TIMESTAMP(6)))
LIMIT ?3

-- name: deferred
-- Deferred rows of a destination or channel: of one shard, or of all. Nothing is locked here, see `locked`.
SELECT id FROM outbox FORCE INDEX (outbox_deferred)
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR shard = ?1) AND (destination = ?2 OR channel = ?2)
LIMIT ?3

-- name: due
-- Of the due rows of one priority in a stretch: those of destinations and channels that take nothing for now. Nothing is locked here, see
-- `locked`.
SELECT o.id, CAST(o.available_at AS CHAR) AS at FROM outbox o FORCE INDEX (outbox_due)
WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2 AND o.available_at <= UTC_TIMESTAMP(6)
  AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
  AND (?5 IS NULL OR o.available_at < ?5 OR (o.available_at = ?5 AND o.id <= ?6))
  AND (o.destination IN (SELECT c.name FROM JSON_TABLE(?7, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
       OR o.channel IN (SELECT c.name FROM JSON_TABLE(?8, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c))
ORDER BY o.available_at, o.id LIMIT ?9

-- name: locked
-- Of these rows, those that still wait, locked, and how they stand now. What is being cancelled must not keep it waiting. MariaDB
-- and MySQL each have their own words for it.
SELECT o.id, o.destination, o.channel, o.ordering_key IS NULL AND o.available_at <= UTC_TIMESTAMP(6) AS due,
       o.deferred_from IS NOT NULL AS deferred
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status = 'PENDING'
/*M! FOR UPDATE */ /*!80000 FOR UPDATE OF o */ SKIP LOCKED

-- name: ramp
INSERT INTO outbox_destination (destination, ramp_from, last_sent_at)
VALUES (?, UTC_TIMESTAMP(6) - INTERVAL 1000 * ? MICROSECOND, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE ramp_from = VALUES(ramp_from), last_sent_at = VALUES(last_sent_at)
