-- name: by_ids
-- Rows by their ids.
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id

-- name: claim_rows
-- Of rows and the revision of each, those that a claim may take: waiting, due, of a configured channel, and first of their
-- ordering key. A dead letter halts its key where its channel says so.
SELECT sent.place, o.id, o.revision
FROM JSON_TABLE(?, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$[0]', revision integer PATH '$[1]')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
STRAIGHT_JOIN JSON_TABLE(?, '$[*]' COLUMNS (
        name varchar(64) CHARACTER SET utf8mb4 PATH '$.name', halt boolean PATH '$.halt')) known ON CAST(known.name AS BINARY) = CAST(o.channel AS BINARY)
WHERE o.shard = ? AND o.available_at <= UTC_TIMESTAMP(6)
  AND (o.ordering_key IS NULL OR (
      o.id = (SELECT e.id FROM outbox e FORCE INDEX (outbox_ordered)
              WHERE e.status = 'PENDING' AND e.shard = o.shard AND e.ordering_key = o.ordering_key AND e.channel = o.channel
              ORDER BY e.id LIMIT 1)
      AND (NOT known.halt OR COALESCE((SELECT d.id FROM outbox d FORCE INDEX (outbox_ordered)
                                       WHERE d.status = 'DEAD' AND d.shard = o.shard AND d.ordering_key = o.ordering_key
                                         AND d.channel = o.channel AND COALESCE(d.dead_reason, '') <> 'cancelled'
                                       ORDER BY d.id LIMIT 1), o.id) >= o.id)))

-- name: look
-- Due rows of one priority, behind a place or (TRUE) from the first on. Rows and lanes may be passed over, else it says TRUE:
-- this is a filter, so the index ends the look all the same.
--
-- Looks have a branch for each priority, each ended by its LIMIT: to sort by priority would read the backlog. The index is
-- forced because an optimizer that misjudges it scans the history.
FROM outbox o FORCE INDEX (outbox_due)
WHERE o.status = 'PENDING' AND o.shard = ? AND o.ordering_key IS NULL AND o.priority = ? AND o.available_at <= UTC_TIMESTAMP(6)
  AND (? OR o.available_at >= ?) AND (? OR o.available_at > ? OR o.id > ?)
  AND (? OR o.id NOT IN (?)) AND (? OR CONCAT(o.channel, '\n', COALESCE(o.tenant, o.destination)) NOT IN (?))
ORDER BY o.available_at, o.id LIMIT ?

-- name: look_at_keys
-- The rows that `nth_of_keys` finds, due or not. Dead letters halt the keys of these channels, or (TRUE) of none.
FROM (?) first STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = first.id
WHERE ? OR CAST(o.channel AS BINARY) NOT IN (?)
   OR COALESCE((SELECT d.id FROM outbox d FORCE INDEX (outbox_ordered)
                WHERE d.status = 'DEAD' AND d.shard = o.shard AND d.ordering_key = o.ordering_key
                  AND d.channel = o.channel AND COALESCE(d.dead_reason, '') <> 'cancelled'
                ORDER BY d.id LIMIT 1), o.id) >= o.id

-- name: look_at_lanes
-- Due rows of one priority of a lane, or (TRUE) of all lanes that share its number, behind a place or (TRUE) from the first on.
FROM outbox o FORCE INDEX (outbox_turns)
WHERE o.shard = ? AND o.turn = ? AND o.priority = ? AND o.available_at <= UTC_TIMESTAMP(6)
  AND (? OR o.available_at >= ?) AND (? OR o.available_at > ? OR o.id > ?)
  AND (? OR o.channel = ? AND COALESCE(o.tenant, o.destination) = ?)
ORDER BY o.available_at, o.id LIMIT ?

-- name: newest
-- Of the newest due rows of one priority, those that were never tried. Of those that come due again there may be any number.
FROM (SELECT n.id FROM outbox n FORCE INDEX (outbox_due)
      WHERE n.status = 'PENDING' AND n.shard = ? AND n.ordering_key IS NULL AND n.priority = ?
        AND n.available_at <= UTC_TIMESTAMP(6)
      ORDER BY n.available_at DESC, n.id DESC LIMIT ?) newest
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = newest.id
WHERE o.first_attempt_at IS NULL

-- name: next_keys
-- The next ordering keys of the ring, and the first waiting row of each. The index is skipped through from key to key where all its leading columns are grouped
-- by, though two of them are constant; the status in the collation of its column, or MariaDB takes it for none and sorts all
-- that it read. Stepping as SQLite does is worse here: a range whose start is a column of an outer query is not a range to this
-- optimizer.
--
-- A statement that is never prepared and kept: once MariaDB (10.11) has opened the table anew, which it does by itself under
-- load, a kept statement reads the rows too, so that nothing is skipped.
SELECT channel, ordering_key, MIN(id) AS id FROM outbox FORCE INDEX (outbox_ordered)
WHERE status = 'PENDING' COLLATE utf8mb4_bin AND shard = ? AND ordering_key >= ? AND (ordering_key > ? OR channel > ?)
GROUP BY status, shard, ordering_key, channel ORDER BY status, shard, ordering_key, channel LIMIT ?

-- name: next_lanes
-- The lanes of some numbers (a range of them, or a list), each with the priorities of its rows. The index is skipped through
-- from one to the next: see `next_keys`.
SELECT turn, priority, MIN(available_at) <= UTC_TIMESTAMP(6) AS due FROM outbox FORCE INDEX (outbox_turns)
WHERE shard = ? AND turn ? GROUP BY shard, turn, priority LIMIT ?

-- name: nth_of_keys
-- Of each ordering key, the waiting row that has so many before it. A key is named by a row of it.
SELECT (SELECT e.id FROM outbox e FORCE INDEX (outbox_ordered)
        WHERE e.status = 'PENDING' AND e.shard = k.shard AND e.ordering_key = k.ordering_key AND e.channel = k.channel
        ORDER BY e.id LIMIT 1 OFFSET ?) AS id
FROM outbox k FORCE INDEX (PRIMARY) WHERE k.id IN (?)

-- name: shown
-- What a look shows of a row: see Header. A look goes on from here. 0000-00-00 comes before all moments and is NULL. Another
-- time that is no moment of the calendar, of which TIMESTAMPDIFF says NULL too, counts as the first day behind it: looks get
-- past it.
SELECT o.id, o.revision, o.priority,
       COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', o.available_at),
                TIMESTAMPDIFF(MICROSECOND, '1970-01-01', MAKEDATE(NULLIF(YEAR(o.available_at), 0), 1)
                                                         + INTERVAL GREATEST(MONTH(o.available_at), 1) - 1 MONTH)) AS at_us,
       o.available_at <= UTC_TIMESTAMP(6) AS due, o.channel, COALESCE(o.tenant, o.destination) AS tenant, o.destination,
       RTRIM(o.ordering_key) AS ordering_key,
       o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) AS bytes

-- name: term
-- The term and whether a claim was made, as they are without waiting for anybody.
SELECT t.epoch, t.holder, EXISTS (SELECT 1 FROM outbox_claim c WHERE c.id = ?1) AS made FROM outbox_term t WHERE t.shard = ?2

-- name: unknown
-- Of these rows, those that are due and whose channel is not configured. Compared as bytes: a space at the end of a name counts.
SELECT o.id, o.channel FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) met
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = met.id AND o.status = 'PENDING'
LEFT JOIN JSON_TABLE(?, '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$.name')) known ON CAST(known.name AS BINARY) = CAST(o.channel AS BINARY)
WHERE o.shard = ? AND o.available_at <= UTC_TIMESTAMP(6) AND known.name IS NULL
