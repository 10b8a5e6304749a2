-- name: aside_clear
-- A pause by hand is not the poller's to end.
UPDATE outbox_destination
SET aside_until = NULL, failures = iif(by_hand, failures, 0), reason = iif(by_hand, reason, NULL),
    paused_by = iif(by_hand, paused_by, NULL), paused_until = iif(by_hand, paused_until, NULL),
    pause_kind = iif(by_hand, pause_kind, NULL)
FROM (SELECT pause_kind IS 'hand' AND paused_until > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS by_hand
      FROM outbox_destination WHERE destination = ?1)
WHERE destination = ?1

-- name: aside_keep
-- The reason of a pause that is on says more.
INSERT INTO outbox_destination (destination, aside_until, reason)
SELECT value ->> 'destination', CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + (value ->> 'ms'), value ->> 'reason'
FROM json_each(?1) WHERE true
ON CONFLICT (destination) DO UPDATE
SET aside_until = max(coalesce(aside_until, 0), excluded.aside_until),
    reason = CASE WHEN paused_until > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) THEN reason
                  ELSE coalesce(excluded.reason, reason) END

-- name: aside_put
UPDATE outbox
SET deferred_from = coalesce(deferred_from, available_at),
    available_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + put.ms
FROM (SELECT value ->> 'id' AS id, value ->> 'ms' AS ms FROM json_each(?1)) put
WHERE outbox.id = put.id AND status = 'PENDING'

-- name: bring_back
UPDATE outbox SET available_at = deferred_from, deferred_from = NULL
WHERE id IN (SELECT value FROM json_each(?1)) AND deferred_from IS NOT NULL

-- name: changes_by_hand
-- What people changed within the last minute, and what holds these destinations now: somebody may have resumed one, and then an
-- answer paused it anew.
SELECT destination, by_hand_at AS stamp, pause_kind,
       paused_until - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS paused_ms, failures
FROM outbox_destination WHERE by_hand_at > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 60000

-- name: configured
-- Rows deferred because nobody had configured their channel, which somebody has now; rows of a pause that is still on, or put
-- aside for a while, keep waiting.
SELECT o.id FROM outbox o INDEXED BY outbox_deferred
WHERE o.deferred_from IS NOT NULL AND o.status = 'PENDING' AND o.shard = ?1
  AND o.channel IN (SELECT value FROM json_each(?2))
  AND NOT EXISTS (SELECT 1 FROM outbox_destination d
                  WHERE d.destination IN (o.destination, o.channel)
                    AND max(coalesce(d.paused_until, 0), coalesce(d.aside_until, 0))
                        > CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
LIMIT ?3

-- name: deferred
-- Deferred rows of a destination or channel: of one shard, or of all. No channel has the name of a URL.
SELECT id FROM outbox INDEXED BY outbox_deferred
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR shard = ?1) AND destination = ?2
UNION ALL
SELECT id FROM outbox INDEXED BY outbox_deferred
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR shard = ?1)
  AND instr(?2, ':') = 0 AND channel = ?2 AND destination <> ?2
LIMIT ?3

-- name: due
-- Of the due rows of one priority in a stretch: those of destinations and channels that take nothing for now.
SELECT id, CAST(available_at AS TEXT) AS at FROM outbox INDEXED BY outbox_due
WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = ?2
  AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND (available_at, id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
  AND (available_at, id) <= (coalesce(CAST(?5 AS NUMERIC), 9e999), ?6)
  AND (destination IN (SELECT value FROM json_each(?7)) OR channel IN (SELECT value FROM json_each(?8)))
ORDER BY available_at, id LIMIT ?9

-- name: locked
-- Of these rows, those that still wait, and how they stand now. The file is locked.
SELECT id, destination, channel,
       ordering_key IS NULL AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS due,
       deferred_from IS NOT NULL AS deferred
FROM outbox WHERE id IN (SELECT value FROM json_each(?1)) AND status = 'PENDING'

-- name: ramp
INSERT INTO outbox_destination (destination, ramp_from, last_sent_at)
VALUES (?1, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - ?2, CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
ON CONFLICT (destination) DO UPDATE SET ramp_from = excluded.ramp_from, last_sent_at = excluded.last_sent_at
