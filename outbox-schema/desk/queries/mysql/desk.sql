-- name: attempts
SELECT number, epoch, holder, DATE_FORMAT(claimed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS claimed_at,
       DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at, duration_ms, outcome, status_code, error,
       excerpt,
       (SELECT l.instance FROM outbox o FORCE INDEX (PRIMARY)
        STRAIGHT_JOIN outbox_term_log l ON l.shard = o.shard AND l.epoch = a.epoch AND l.holder = a.holder
        WHERE o.id = a.message_id) AS instance
FROM outbox_attempt a WHERE message_id = ? ORDER BY id

-- name: audit
INSERT INTO outbox_audit (who, action, why, message_id, details)
VALUES (?1, ?2, ?3, ?4, ?5)

-- name: audit_each
-- An entry for each message of an operation: what is about to be overwritten, from which an undo takes it back.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT ?1, ?2, ?3, o.id, JSON_OBJECT(
           'idempotency_key', o.idempotency_key, 'channel', o.channel, 'revision', o.revision,
           'dead_reason', o.dead_reason, 'attempts', o.attempts, 'error_hash', o.error_hash,
           'available_at', IF(o.status = 'PENDING', DATE_FORMAT(o.available_at, '%Y-%m-%dT%H:%i:%s.%fZ'), NULL),
           'first_attempt_at', DATE_FORMAT(o.first_attempt_at, '%Y-%m-%dT%H:%i:%s.%fZ'),
           'finished_at', DATE_FORMAT(o.finished_at, '%Y-%m-%dT%H:%i:%s.%fZ'),
           'expires_at', DATE_FORMAT(o.expires_at, '%Y-%m-%dT%H:%i:%s.%fZ'))
FROM JSON_TABLE(?4, '$[*]' COLUMNS (id bigint PATH '$')) AS asked STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id

-- name: audit_of_message
-- The reason of an operation stands in its own entry.
SELECT a.id, DATE_FORMAT(a.at, '%Y-%m-%dT%H:%i:%s.%fZ') AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, CAST(a.details AS CHAR) AS details, a.part_of
FROM outbox_audit a LEFT JOIN outbox_audit whole FORCE INDEX (PRIMARY) ON whole.id = a.part_of
WHERE a.message_id = ? ORDER BY a.id

-- name: audit_part
-- The entries of the messages of an edit, with what is about to be overwritten.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT ?1, ?2, ?3, asked.id, asked.details
FROM JSON_TABLE(?4, '$[*]' COLUMNS (id bigint PATH '$.id', details longtext PATH '$.details')) AS asked

-- name: audits
-- Of the newest entries below an id, those that are meant, the newest first. Entries of one message of an operation are left out
-- unless the message, or the operation, is named. No entry is read that is too far down: a subquery of those to look at would be copied first.
SELECT a.id, DATE_FORMAT(a.at, '%Y-%m-%dT%H:%i:%s.%fZ') AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, CAST(a.details AS CHAR) AS details, a.part_of, a.message_id
FROM outbox_audit a FORCE INDEX (PRIMARY)
LEFT JOIN outbox_audit whole FORCE INDEX (PRIMARY) ON whole.id = a.part_of
WHERE (?1 IS NULL OR a.message_id = ?1) AND (?2 IS NULL OR a.id < ?2) AND (?9 IS NULL OR a.part_of = ?9)
  AND a.id > coalesce((SELECT l.id FROM outbox_audit l FORCE INDEX (PRIMARY)
                       WHERE (?1 IS NULL OR l.message_id = ?1) AND (?2 IS NULL OR l.id < ?2) AND (?9 IS NULL OR l.part_of = ?9)
                       ORDER BY l.id DESC LIMIT 1 OFFSET ?3), 0)
  AND (?1 IS NOT NULL OR ?9 IS NOT NULL OR a.part_of IS NULL)
  AND (?4 IS NULL OR a.at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND)
  AND (?5 IS NULL OR a.at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?5 MICROSECOND)
  AND (?6 IS NULL OR LEFT(a.who, CHAR_LENGTH(?6)) = ?6) AND (?7 IS NULL OR a.action = ?7)
ORDER BY a.id DESC LIMIT ?8

-- name: audits_end
-- The lowest of the newest ids below one, where there are so many: where a page that looks no further ends.
SELECT l.id FROM outbox_audit l WHERE (?1 IS NULL OR l.id < ?1) ORDER BY l.id DESC LIMIT 1 OFFSET ?2

-- name: backlog
-- Due messages of a priority, without an ordering key, that are before a message: all of them where its own is lower, else those
-- longer due. How many, up to 10,000, and for how long the first has been due. Read from the index of the poll. And how many of
-- them are of its own tenant, read from the index of turns.
SELECT COUNT(*) AS ahead, TIMESTAMPDIFF(MICROSECOND, MIN(available_at), UTC_TIMESTAMP(6)) DIV 1000 AS oldest_ms,
       (SELECT COUNT(*) FROM (
           SELECT t.id FROM outbox t FORCE INDEX (outbox_turns)
           WHERE t.shard = ?1 AND t.turn = (SELECT o.turn FROM outbox o WHERE o.id = ?4) AND t.priority = ?2
             AND t.available_at <= IF(?2 > ?3, UTC_TIMESTAMP(6), (SELECT o.available_at FROM outbox o WHERE o.id = ?4))
             AND (?2 > ?3 OR t.id < ?4 OR t.available_at < (SELECT o.available_at FROM outbox o WHERE o.id = ?4))
           LIMIT 10000) own) AS of_tenant
FROM (
    SELECT b.available_at FROM outbox b FORCE INDEX (outbox_due)
    WHERE b.status = 'PENDING' AND b.shard = ?1 AND b.ordering_key IS NULL AND b.priority = ?2
      AND b.available_at <= IF(?2 > ?3, UTC_TIMESTAMP(6), (SELECT o.available_at FROM outbox o WHERE o.id = ?4))
      AND (?2 > ?3 OR b.id < ?4 OR b.available_at < (SELECT o.available_at FROM outbox o WHERE o.id = ?4))
    ORDER BY b.available_at, b.id LIMIT 10000
) earlier

-- name: cancel
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
SET o.status = 'DEAD', o.dead_reason = 'cancelled', o.revision = o.revision + 1, o.finished_at = UTC_TIMESTAMP(6),
    o.error_hash = NULL, o.deferred_from = NULL

-- name: channels
-- Reads what is pending or dead, and no history. A deferred message has been due since before its deferral; one
-- that was given a time in the past is no older than itself.
SELECT channel, CAST(SUM(pending) AS SIGNED) AS pending, CAST(SUM(due) AS SIGNED) AS due,
       CAST(SUM(deferred) AS SIGNED) AS deferred, CAST(SUM(dead) AS SIGNED) AS dead,
       TIMESTAMPDIFF(MICROSECOND, MIN(oldest), UTC_TIMESTAMP(6)) DIV 1000 AS lag_ms
FROM (
    SELECT channel, COUNT(*) AS pending, COUNT(IF(available_at <= UTC_TIMESTAMP(6), 1, NULL)) AS due,
           COUNT(deferred_from) AS deferred, 0 AS dead,
           MIN(IF(COALESCE(deferred_from, available_at) <= UTC_TIMESTAMP(6),
                  GREATEST(COALESCE(deferred_from, available_at), created_at), NULL)) AS oldest
    FROM outbox FORCE INDEX (outbox_due) WHERE status = 'PENDING' GROUP BY channel
    UNION ALL
    SELECT o.channel, 0, 0, 0, letters, NULL
    FROM (SELECT COUNT(*) AS letters, MAX(id) AS example FROM outbox FORCE INDEX (outbox_dead)
          WHERE fingerprint > '' GROUP BY fingerprint) dead
    STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = dead.example
) parts
GROUP BY channel ORDER BY channel

-- name: contents
-- What an edit may change of the asked. Their rows are locked by now. No payload is read that is larger than one may be.
SELECT o.id, o.idempotency_key, o.channel, o.target, CASE WHEN o.payload_bytes <= ?2 THEN CAST(o.payload AS CHAR) END AS payload, CAST(o.headers AS CHAR) AS headers,
       o.revision
FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id

-- name: current_terms
-- A shard that nobody has led yet has epoch 0.
SELECT shard, epoch, holder, DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       TIMESTAMPDIFF(MICROSECOND, started_at, UTC_TIMESTAMP(6)) DIV 1000 AS age_ms
FROM outbox_term t WHERE t.epoch > 0 ORDER BY t.shard

-- name: dead_among
-- Of the messages named, the dead letters that meet the conditions.
SELECT o.id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', o.dead_at) AS dead_at_us, o.fingerprint
FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status = 'DEAD'
WHERE TRUE
  AND (?2 IS NULL OR o.destination = ?2) AND o.dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
  AND o.dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
  AND (?5 IS NULL OR LOCATE(LOWER(?5), LOWER(o.last_error)) > 0)
  AND (?6 IS NULL OR o.target = ?6)
  AND (?7 IS NULL OR LEFT(o.idempotency_key, CHAR_LENGTH(?7)) = ?7)
  AND (?8 IS NULL OR o.tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?8), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(o.tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?8, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
  AND (?9 IS NULL OR COALESCE(o.tenant, o.destination) = ?9)

-- name: dead_fingerprint
-- The next of those that there are: one step in the index, whatever the database knows of its statistics.
SELECT fingerprint FROM outbox FORCE INDEX (outbox_dead) WHERE fingerprint > ?1 ORDER BY fingerprint LIMIT 1

-- name: dead_group
-- How many letters one fingerprint has: of all destinations, or of one. Read from an index alone.
SELECT CAST(SUM(letters) AS SIGNED) AS letters,
       DATE_FORMAT(min(first_at), '%Y-%m-%dT%H:%i:%s.%fZ') AS first_seen,
       DATE_FORMAT(max(last_at), '%Y-%m-%dT%H:%i:%s.%fZ') AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox FORCE INDEX (outbox_dead)
    WHERE fingerprint = ?1 AND ?2 IS NULL
      AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
      AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox FORCE INDEX (outbox_dead_destination)
    WHERE fingerprint = ?1 AND destination = ?2
      AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
      AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
) grouped

-- name: dead_group_matching
-- How many letters of one fingerprint meet other conditions: of all destinations, or of one. Looked for in the rows
-- themselves.
SELECT CAST(SUM(letters) AS SIGNED) AS letters,
       DATE_FORMAT(min(first_at), '%Y-%m-%dT%H:%i:%s.%fZ') AS first_seen,
       DATE_FORMAT(max(last_at), '%Y-%m-%dT%H:%i:%s.%fZ') AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox FORCE INDEX (outbox_dead)
    WHERE fingerprint = ?1 AND ?2 IS NULL
      AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
      AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
      AND (?5 IS NULL OR LOCATE(LOWER(?5), LOWER(last_error)) > 0)
      AND (?6 IS NULL OR target = ?6)
      AND (?7 IS NULL OR LEFT(idempotency_key, CHAR_LENGTH(?7)) = ?7)
      AND (?8 IS NULL OR tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?8), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?8, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
      AND (?9 IS NULL OR COALESCE(tenant, destination) = ?9)
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox FORCE INDEX (outbox_dead_destination)
    WHERE fingerprint = ?1 AND destination = ?2
      AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
      AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
      AND (?5 IS NULL OR LOCATE(LOWER(?5), LOWER(last_error)) > 0)
      AND (?6 IS NULL OR target = ?6)
      AND (?7 IS NULL OR LEFT(idempotency_key, CHAR_LENGTH(?7)) = ?7)
      AND (?8 IS NULL OR tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?8), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?8, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
      AND (?9 IS NULL OR COALESCE(tenant, destination) = ?9)
) grouped

-- name: dead_last
-- When the last letter of one fingerprint died, up to a moment.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', MAX(dead_at)) AS last_us FROM outbox FORCE INDEX (outbox_dead)
WHERE fingerprint = ?1 AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?2 MICROSECOND

-- name: dead_letters
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.dead_reason, o.attempts, o.last_error,
       o.last_status_code, o.fingerprint, o.ordering_key, o.tenant, CAST(o.tags AS CHAR) AS tags,
       DATE_FORMAT(o.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS created_at,
       DATE_FORMAT(o.dead_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS dead_at,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', o.dead_at) AS dead_at_us
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status = 'DEAD'
ORDER BY o.dead_at DESC, o.id DESC

-- name: dead_page
-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Read from an index alone.
SELECT id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', dead_at) AS dead_at_us FROM (
    (SELECT id, dead_at FROM outbox FORCE INDEX (outbox_dead)
     WHERE fingerprint = ?1 AND ?2 IS NULL
       AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
       AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
       AND (dead_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND OR id < ?5)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
    UNION ALL
    (SELECT id, dead_at FROM outbox FORCE INDEX (outbox_dead_destination)
     WHERE fingerprint = ?1 AND destination = ?2
       AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
       AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
       AND (dead_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND OR id < ?5)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
) page ORDER BY dead_at DESC, id DESC LIMIT ?6

-- name: dead_page_matching
-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Those that meet
-- other conditions are looked for in the rows themselves.
SELECT id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', dead_at) AS dead_at_us FROM (
    (SELECT id, dead_at FROM outbox FORCE INDEX (outbox_dead)
     WHERE fingerprint = ?1 AND ?2 IS NULL
       AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
       AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
       AND (dead_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND OR id < ?5)
       AND (?7 IS NULL OR LOCATE(LOWER(?7), LOWER(last_error)) > 0)
       AND (?8 IS NULL OR target = ?8)
       AND (?9 IS NULL OR LEFT(idempotency_key, CHAR_LENGTH(?9)) = ?9)
       AND (?10 IS NULL OR tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?10), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?10, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
       AND (?11 IS NULL OR COALESCE(tenant, destination) = ?11)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
    UNION ALL
    (SELECT id, dead_at FROM outbox FORCE INDEX (outbox_dead_destination)
     WHERE fingerprint = ?1 AND destination = ?2
       AND dead_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND
       AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND
       AND (dead_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND OR id < ?5)
       AND (?7 IS NULL OR LOCATE(LOWER(?7), LOWER(last_error)) > 0)
       AND (?8 IS NULL OR target = ?8)
       AND (?9 IS NULL OR LEFT(idempotency_key, CHAR_LENGTH(?9)) = ?9)
       AND (?10 IS NULL OR tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?10), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?10, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
       AND (?11 IS NULL OR COALESCE(tenant, destination) = ?11)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
) page ORDER BY dead_at DESC, id DESC LIMIT ?6

-- name: deferred
-- Rows that were put aside or put off, counted, and for how long the oldest has been due: of all destinations, or of one
-- destination or channel.
SELECT destination, channel, COUNT(*) AS waiting,
       TIMESTAMPDIFF(MICROSECOND, MIN(deferred_from), UTC_TIMESTAMP(6)) DIV 1000 AS oldest_ms
FROM outbox FORCE INDEX (outbox_deferred)
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR destination = ?1 OR channel = ?1)
GROUP BY destination, channel

-- name: destinations
-- What is kept of destinations and channels: of all, or of one.
SELECT destination, DATE_FORMAT(paused_until, '%Y-%m-%dT%H:%i:%s.%fZ') AS paused_until,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000 AS paused_ms,
       COALESCE(paused_until >= TIMESTAMP'9999-12-31 00:00:00', FALSE) AS for_good, paused_by, pause_kind, reason,
       failures, DATE_FORMAT(aside_until, '%Y-%m-%dT%H:%i:%s.%fZ') AS aside_until,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), aside_until) DIV 1000 AS aside_ms
FROM outbox_destination WHERE ?1 IS NULL OR destination = ?1

-- name: due_by_destination
-- For whom the messages are that have been due for longest. Of each priority the first 2,500 without an ordering key are looked at,
-- and as many with one, in no order: however many wait.
SELECT destination, channel, COUNT(*) AS due, TIMESTAMPDIFF(MICROSECOND, MIN(available_at), UTC_TIMESTAMP(6)) DIV 1000 AS oldest_ms
FROM (
    (SELECT channel, destination, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 3 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 2 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 1 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 0 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox FORCE INDEX (outbox_ordered)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NOT NULL AND available_at <= UTC_TIMESTAMP(6) LIMIT 2500)
) looked_at
GROUP BY destination, channel

-- name: durability
SELECT 'innodb_flush_log_at_trx_commit' AS name, CAST(@@GLOBAL.innodb_flush_log_at_trx_commit AS CHAR) AS setting
UNION ALL
-- Without a binary log there is none to sync.
SELECT 'sync_binlog', CAST(IF(@@GLOBAL.log_bin, @@GLOBAL.sync_binlog, 1) AS CHAR)

-- name: edit
-- Stays a dead letter. Receivers refuse a key with another body, so one with another body has a new key.
UPDATE outbox SET sent_key = IF(idempotency_key = ?1, sent_key, NULL), idempotency_key = ?1, target = ?2, payload = ?3, headers = ?4,
                  revision = revision + 1
WHERE id = ?5

-- name: edit_each
-- They stay dead letters. Receivers refuse a key with another body, so each gets a new one.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$.id', idempotency_key varchar(255) CHARACTER SET utf8mb4 PATH '$.key',
                                        target longtext PATH '$.target', headers longtext PATH '$.headers')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
SET o.sent_key = IF(o.idempotency_key = asked.idempotency_key, o.sent_key, NULL), o.idempotency_key = asked.idempotency_key, o.target = asked.target, o.headers = asked.headers, o.revision = o.revision + 1

-- name: envelopes
-- What an edit of many may change of the asked, which is not their payload. Their rows are locked by now.
SELECT o.id, o.idempotency_key, o.channel, o.target, CAST(o.headers AS CHAR) AS headers, o.revision
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id

-- name: figures
SELECT channel, TIMESTAMPDIFF(SECOND, '1970-01-01', begins_at) DIV ?2 * ?2 AS at_s, max(lag_ms) AS lag_ms,
       CAST(SUM(delivered) AS SIGNED) AS delivered, CAST(SUM(failed) AS SIGNED) AS failed,
       CAST(SUM(dead) AS SIGNED) AS dead, CAST(SUM(in_doubt) AS SIGNED) AS in_doubt,
       CAST(SUM(deferred) AS SIGNED) AS deferred, CAST(SUM(ms_10) AS SIGNED) AS ms_10,
       CAST(SUM(ms_25) AS SIGNED) AS ms_25, CAST(SUM(ms_50) AS SIGNED) AS ms_50,
       CAST(SUM(ms_100) AS SIGNED) AS ms_100, CAST(SUM(ms_250) AS SIGNED) AS ms_250,
       CAST(SUM(ms_500) AS SIGNED) AS ms_500, CAST(SUM(ms_1000) AS SIGNED) AS ms_1000,
       CAST(SUM(ms_2500) AS SIGNED) AS ms_2500, CAST(SUM(ms_5000) AS SIGNED) AS ms_5000,
       CAST(SUM(ms_10000) AS SIGNED) AS ms_10000, CAST(SUM(ms_60000) AS SIGNED) AS ms_60000,
       CAST(SUM(ms_600000) AS SIGNED) AS ms_600000, CAST(SUM(ms_3600000) AS SIGNED) AS ms_3600000,
       CAST(SUM(ms_more) AS SIGNED) AS ms_more
FROM outbox_minute WHERE begins_at >= TIMESTAMPADD(SECOND, ?1, '1970-01-01') AND (?3 IS NULL OR channel = ?3)
GROUP BY channel, at_s ORDER BY channel, at_s

-- name: fleet
SELECT id, name, version, schema_version, DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       TIMESTAMPDIFF(MICROSECOND, seen_at, UTC_TIMESTAMP(6)) DIV 1000 AS seen_ms,
       DATE_FORMAT(seen_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS seen_at,
       address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble
FROM outbox_replica r ORDER BY r.name, r.started_at, r.id LIMIT 1000

-- name: former_key
-- The message that had a key before it was edited, by the newest of as many entries. No index has the keys of former days.
SELECT a.message_id
FROM (SELECT id, action, message_id, details FROM outbox_audit ORDER BY id DESC LIMIT ?2) a
WHERE a.action = 'edit' AND a.message_id IS NOT NULL
  AND CAST(JSON_UNQUOTE(JSON_EXTRACT(a.details, '$.idempotency_key')) AS BINARY) = CAST(?1 AS BINARY)
ORDER BY a.id DESC LIMIT 1

-- name: halted_keys
-- The ordering keys of a channel, behind one of them, that a dead letter halts: with that letter, the first message that waits, and
-- how many do, up to a number. Looks at so many dead letters, of all channels, and at their keys: a million of them take no longer.
--
-- No derived table can be about the row beside it in MariaDB. So the message with the highest number says whether there are more.
SELECT ?2 AS channel, halted.ordering_key, halted.dead_letter, d.dead_reason,
       DATE_FORMAT(d.dead_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS dead_at, halted.first_waiting,
       IF((SELECT w.id FROM outbox w FORCE INDEX (outbox_ordered)
           WHERE w.status = 'PENDING' AND w.shard = ?1 AND w.ordering_key = halted.ordering_key AND w.channel = ?2
           ORDER BY w.id LIMIT 1 OFFSET ?6) IS NULL,
          (SELECT COUNT(*) FROM outbox w FORCE INDEX (outbox_ordered)
           WHERE w.status = 'PENDING' AND w.shard = ?1 AND w.ordering_key = halted.ordering_key AND w.channel = ?2),
          ?6) AS waiting
FROM (
    SELECT * FROM (
        SELECT looked_at.ordering_key,
               (SELECT l.id FROM outbox l FORCE INDEX (outbox_ordered)
                WHERE l.status = 'DEAD' AND l.shard = ?1 AND l.ordering_key = looked_at.ordering_key AND l.channel = ?2
                  AND COALESCE(l.dead_reason, '') <> 'cancelled'
                ORDER BY l.id LIMIT 1) AS dead_letter,
               (SELECT w.id FROM outbox w FORCE INDEX (outbox_ordered)
                WHERE w.status = 'PENDING' AND w.shard = ?1 AND w.ordering_key = looked_at.ordering_key AND w.channel = ?2
                ORDER BY w.id LIMIT 1) AS first_waiting
        FROM (
            SELECT DISTINCT ordering_key FROM (
                SELECT ordering_key FROM outbox FORCE INDEX (outbox_ordered)
                WHERE status = 'DEAD' AND shard = ?1 AND ordering_key >= COALESCE(?3, _utf8mb4 '') AND NOT (ordering_key <=> ?3)
                ORDER BY ordering_key LIMIT ?4
            ) first
        ) looked_at
    ) keys_of_letters
    WHERE first_waiting > dead_letter
    ORDER BY ordering_key LIMIT ?5
) halted
STRAIGHT_JOIN outbox d FORCE INDEX (PRIMARY) ON d.id = halted.dead_letter
ORDER BY halted.ordering_key

-- name: halted_keys_end
-- The ordering key with which the last look at so many dead letters ended: there the next one begins. None where there were fewer.
SELECT ordering_key FROM outbox FORCE INDEX (outbox_ordered)
WHERE status = 'DEAD' AND shard = ?1 AND ordering_key >= COALESCE(?3, _utf8mb4 '') AND NOT (ordering_key <=> ?3)
ORDER BY ordering_key LIMIT 1 OFFSET ?4

-- name: halting_letters
-- Those of the asked that halt their ordering key where its channel says so, and the first message that waits behind each.
SELECT id, first_waiting FROM (
    SELECT o.id, (SELECT w.id FROM outbox w FORCE INDEX (outbox_ordered)
                  WHERE w.status = 'PENDING' AND w.shard = o.shard AND w.ordering_key = o.ordering_key AND w.channel = o.channel
                  ORDER BY w.id LIMIT 1) AS first_waiting
    FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
    STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status = 'DEAD'
                                                AND COALESCE(o.dead_reason, '') <> 'cancelled'
    WHERE NOT EXISTS (
        SELECT 1 FROM outbox d FORCE INDEX (outbox_ordered)
        WHERE d.status = 'DEAD' AND d.shard = o.shard AND d.ordering_key = o.ordering_key AND d.channel = o.channel
          AND d.id < o.id AND COALESCE(d.dead_reason, '') <> 'cancelled')
) halting WHERE first_waiting > id

-- name: held_back
-- Who keeps old versions of rows from being purged, of all the one who has for longest, and of how many transactions there
-- are: a transaction of REPEATABLE READ keeps all since its beginning. One row, also where nobody does. This asks for the
-- right PROCESS; the times are those of the server's system.
SELECT 1 AS sees_all, history.length AS dead_rows, holder.*
FROM (SELECT CAST(m.COUNT AS SIGNED) AS length FROM information_schema.INNODB_METRICS m
      WHERE m.NAME = 'trx_rseg_history_len') history
LEFT JOIN (
    SELECT 'session' AS kind, CAST(t.trx_mysql_thread_id AS CHAR) AS name,
           CONCAT_WS(', ', p.USER, p.HOST, p.COMMAND) AS who,
           DATE_FORMAT(CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), '%Y-%m-%dT%H:%i:%sZ') AS since,
           TIMESTAMPDIFF(MICROSECOND, CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), UTC_TIMESTAMP(6)) DIV 1000 AS age_ms,
           CAST(NULL AS SIGNED) AS transactions
    FROM information_schema.INNODB_TRX t LEFT JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
    WHERE t.trx_isolation_level IN ('REPEATABLE READ', 'SERIALIZABLE') AND t.trx_mysql_thread_id <> CONNECTION_ID()
    ORDER BY t.trx_started LIMIT 1
) holder ON TRUE

-- name: ids_below
-- The lowest id of so many rows down the primary key, and how many rows there are.
SELECT min(below.id) AS lowest, count(*) AS looked_at
FROM (SELECT id FROM outbox FORCE INDEX (PRIMARY) WHERE id < ? ORDER BY id DESC LIMIT ?) below

-- name: ids_between
-- Of the rows between two ids, those that a filter means, the newest first.
SELECT o.id
FROM outbox o FORCE INDEX (PRIMARY)
WHERE o.id >= ?1 AND o.id < ?17

-- name: ids_by_key
-- What has a key that begins so, as long as it is little. A range would not do: a shorter text is filled up with spaces where texts are
-- compared.
SELECT id FROM outbox FORCE INDEX (outbox_idempotency_key)
WHERE idempotency_key LIKE CONCAT(REPLACE(REPLACE(REPLACE(?1, '|', '||'), '%', '|%'), '_', '|_'), '%') ESCAPE '|' LIMIT ?3

-- name: ids_by_tag
-- What has a tag, as long as it is little.
SELECT message_id AS id FROM outbox_tag WHERE tag = ?1 LIMIT ?3

-- name: ids_dead
-- Dead letters, as long as they are few: to other rows their index holds NULL.
SELECT id FROM outbox FORCE INDEX (outbox_dead) WHERE fingerprint > '' LIMIT ?

-- name: ids_in_doubt
-- What was ever in doubt, or was of one term, as long as that is little: attempts that are recorded are few.
SELECT DISTINCT message_id AS id FROM outbox_attempt
WHERE outcome = 'in_doubt' AND (?1 = 0 OR epoch = ?1) LIMIT ?2

-- name: ids_pending
-- What waits, as long as that is little: it lies together in an index of the poll.
SELECT id FROM outbox FORCE INDEX (outbox_due) WHERE status = 'PENDING' LIMIT ?

-- name: invalid_target_of
-- Whether the target of a message is known to be gone.
SELECT t.id, t.channel, t.target, t.reason, DATE_FORMAT(t.observed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS observed_at
FROM outbox o
JOIN outbox_invalid_target t
  ON t.channel = o.channel AND t.target_hash = SHA2(o.target, 256) AND t.target = o.target
WHERE o.id = ?

-- name: invalid_targets
-- Targets that are known to be gone, the last recorded first.
SELECT id, channel, target, reason, DATE_FORMAT(observed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS observed_at
FROM outbox_invalid_target
WHERE (?1 IS NULL OR channel = ?1)
  AND (?2 IS NULL OR target IN (SELECT asked.target FROM JSON_TABLE(?2, '$[*]' COLUMNS (
                                    target text CHARACTER SET utf8mb4 PATH '$')) AS asked))
  AND (?3 IS NULL OR observed_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND)
  AND id < ?4
ORDER BY id DESC LIMIT ?5

-- name: invalid_targets_clear
-- One that was found to be gone once more since it was chosen by its age stays.
DELETE gone FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_invalid_target gone FORCE INDEX (PRIMARY) ON gone.id = asked.id
WHERE ?2 IS NULL OR gone.observed_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?2 MICROSECOND

-- name: invalid_targets_count
SELECT COUNT(*) AS total FROM outbox_invalid_target
WHERE (?1 IS NULL OR channel = ?1)
  AND (?2 IS NULL OR target IN (SELECT asked.target FROM JSON_TABLE(?2, '$[*]' COLUMNS (
                                    target text CHARACTER SET utf8mb4 PATH '$')) AS asked))
  AND (?3 IS NULL OR observed_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 MICROSECOND)

-- name: job_pause
UPDATE outbox_job SET paused_at = UTC_TIMESTAMP(3), paused_by = ?2 WHERE name = ?1 AND paused_at IS NULL

-- name: job_resume
UPDATE outbox_job SET paused_at = NULL, paused_by = NULL WHERE name = ?1 AND paused_at IS NOT NULL

-- name: job_runs
-- The runs of a job below a token, the newest first. What a run wrote is long: it is read of one run only.
SELECT r.token, r.holder, r.host, r.pid, r.command,
       CONCAT(LEFT(DATE_FORMAT(r.started_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS started_at,
       CONCAT(LEFT(DATE_FORMAT(r.seen_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS seen_at,
       CONCAT(LEFT(DATE_FORMAT(r.ended_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS ended_at,
       TIMESTAMPDIFF(MICROSECOND, r.started_at, r.ended_at) DIV 1000 AS took_ms,
       r.ended_because, r.exit_code, r.`signal`, CASE WHEN ?4 = 1 THEN r.tail END AS tail
FROM outbox_job_run r WHERE r.name = ?1 AND r.token < ?2 ORDER BY r.token DESC LIMIT ?3

-- name: jobs
-- The jobs that have run somewhere, or the one of this name, each with its last run. One is late where too long ago
-- a run ended, or was last known to go on.
SELECT j.name,
       CASE WHEN r.id IS NOT NULL AND r.ended_because IS NULL THEN 'running' WHEN j.paused_at IS NOT NULL THEN 'paused'
            WHEN r.id IS NULL THEN 'never' WHEN r.ended_because = 'finished' THEN 'completed' ELSE 'failed' END AS state,
       r.token, r.host,
       CONCAT(LEFT(DATE_FORMAT(r.started_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS started_at,
       CONCAT(LEFT(DATE_FORMAT(r.seen_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS seen_at,
       CONCAT(LEFT(DATE_FORMAT(r.ended_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS ended_at,
       TIMESTAMPDIFF(MICROSECOND, r.started_at, r.ended_at) DIV 1000 AS took_ms,
       r.ended_because, r.exit_code, r.`signal`,
       CONCAT(LEFT(DATE_FORMAT(j.last_success_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS last_success_at,
       j.skips, j.due_within_ms,
       j.paused_at IS NULL AND COALESCE(TIMESTAMPDIFF(MICROSECOND, COALESCE(r.ended_at, r.seen_at, j.created_at), UTC_TIMESTAMP(3)) DIV 1000 > 2 * j.due_within_ms, FALSE) AS late,
       CONCAT(LEFT(DATE_FORMAT(j.paused_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS paused_at, j.paused_by,
       j.finished, j.failed, j.timed_out, j.lost, j.stopped, j.crashed
FROM outbox_job j
LEFT JOIN outbox_job_token t ON t.name = j.name
LEFT JOIN outbox_job_run r ON r.name = j.name AND r.token = t.token
WHERE ?1 IS NULL OR j.name = ?1 ORDER BY j.name LIMIT ?2

-- name: lock_holders
-- Transactions that have held locks on rows for 5 s, of whatever table: this asks for the right PROCESS.
SELECT 'rows' AS `lock`, CAST(t.trx_mysql_thread_id AS CHAR) AS session, CONCAT_WS(', ', p.USER, p.HOST, p.COMMAND) AS who
FROM information_schema.INNODB_TRX t LEFT JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
WHERE t.trx_rows_locked > 0 AND t.trx_mysql_thread_id NOT IN (0, CONNECTION_ID())
  AND TIMESTAMPDIFF(SECOND, CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), UTC_TIMESTAMP()) >= 5
ORDER BY t.trx_started LIMIT 9

-- name: lock_terms
-- Nobody claims until this transaction ends.
SELECT shard
FROM outbox_term ORDER BY shard FOR UPDATE

-- name: may_create
SELECT '', '', '' FROM DUAL WHERE FALSE

-- name: message
SELECT id, idempotency_key, channel, target, destination, CASE WHEN payload_bytes <= ?2 THEN CAST(payload AS CHAR) END AS payload,
       CAST(payload_bytes AS SIGNED) AS payload_bytes,
       CAST(headers AS CHAR) AS headers, ordering_key, tenant, replay_of, sent_key, CAST(tags AS CHAR) AS tags, priority, shard,
       revision, status, dead_reason, attempts,
       max_attempts, deadline_ms, DATE_FORMAT(available_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS available_at,
       DATE_FORMAT(deferred_from, '%Y-%m-%dT%H:%i:%s.%fZ') AS deferred_from,
       DATE_FORMAT(expires_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS expires_at,
       DATE_FORMAT(first_attempt_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS first_attempt_at, traceparent, tracestate,
       last_error, last_status_code, receipt, DATE_FORMAT(created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS created_at,
       DATE_FORMAT(finished_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS finished_at
FROM outbox WHERE id = ?1

-- name: message_clock
-- How a message stands by the database's clock.
SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%fZ') AS now, available_at <= UTC_TIMESTAMP(6) AS due,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), available_at) DIV 1000 AS due_in_ms,
       COALESCE(expires_at <= UTC_TIMESTAMP(6), 0) AS expired,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at) DIV 1000 AS expires_in_ms,
       TIMESTAMPDIFF(MICROSECOND, first_attempt_at, UTC_TIMESTAMP(6)) DIV 1000 AS tried_for_ms,
       TIMESTAMPDIFF(MICROSECOND, created_at, COALESCE(deferred_from, available_at)) DIV 1000 AS delayed_by_ms,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), created_at) DIV 1000 AS created_in_ms,
       VERSION() NOT LIKE '%MariaDB%' AS rounds
FROM outbox WHERE id = ?

-- name: message_conditions
  -- The conditions of a filter of messages, behind which rows are looked at.
  AND (?2 IS NULL OR o.status = ?2) AND (?3 IS NULL OR o.channel = ?3) AND (?4 IS NULL OR o.destination = ?4)
  AND (?5 IS NULL OR o.ordering_key = ?5) AND (?6 IS NULL OR o.priority = ?6)
  AND (?7 IS NULL OR o.created_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?7 MICROSECOND)
  AND (?8 IS NULL OR o.created_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?8 MICROSECOND)
  AND (?10 IS NULL OR o.target = ?10)
  AND (?11 IS NULL OR LEFT(o.idempotency_key, CHAR_LENGTH(?11)) = ?11)
  AND (?12 IS NULL OR o.tags IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM JSON_TABLE(JSON_KEYS(?12), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
           WHERE COALESCE(JSON_UNQUOTE(JSON_EXTRACT(o.tags, CONCAT('$.', JSON_QUOTE(tag.name))))
                          <> JSON_UNQUOTE(JSON_EXTRACT(?12, CONCAT('$.', JSON_QUOTE(tag.name)))), TRUE)))
  AND (?13 IS NULL OR COALESCE(o.tenant, o.destination) = ?13)
  AND (?14 IS NULL OR LOCATE(LOWER(?14), LOWER(o.last_error)) > 0)
  AND (?15 IS NULL OR o.attempts >= ?15)
  AND (?16 IS NULL OR EXISTS (
           SELECT 1 FROM outbox_attempt a WHERE a.message_id = o.id AND a.outcome = 'in_doubt' AND (?16 = 0 OR a.epoch = ?16)))
ORDER BY o.id DESC LIMIT ?9

-- name: message_id
SELECT id
FROM outbox WHERE idempotency_key = ?

-- name: messages
-- Of the messages named, those that a filter means, the newest first.
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.ordering_key, o.priority, o.status,
       o.dead_reason, o.attempts, DATE_FORMAT(o.available_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS available_at,
       DATE_FORMAT(o.deferred_from, '%Y-%m-%dT%H:%i:%s.%fZ') AS deferred_from,
       DATE_FORMAT(o.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS created_at,
       DATE_FORMAT(o.first_attempt_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS first_attempt_at,
       DATE_FORMAT(o.finished_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS finished_at, o.last_error, o.last_status_code, o.replay_of,
       o.tenant, CAST(o.tags AS CHAR) AS tags
FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
WHERE TRUE

-- name: named
-- Those of the asked that a claim names with their present revision: they may be in flight.
SELECT o.id
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term) ON c.shard = t.shard AND c.epoch >= t.unsettled_from
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
WHERE o.id IN (SELECT asked.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) asked)

-- name: naming_claim
-- The claim under which the message may be in flight.
SELECT c.id, c.shard, c.epoch, c.holder, DATE_FORMAT(c.claimed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS claimed_at,
       DATE_FORMAT(c.gate_closed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS gate_closed_at,
       DATE_FORMAT(c.superseded_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS superseded_at,
       DATE_FORMAT(TIMESTAMPADD(MICROSECOND,
                                1000 * IF(c.gate_closed_at IS NULL, c.settling_ms, c.settling_closed_ms),
                                c.superseded_at), '%Y-%m-%dT%H:%i:%s.%fZ') AS settles_at,
       (SELECT l.instance FROM outbox_term_log l WHERE l.shard = c.shard AND l.epoch = c.epoch AND l.holder = c.holder) AS instance
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term) ON c.shard = t.shard AND c.epoch >= t.unsettled_from
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                      AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
WHERE o.id = ?

-- name: open_terms
-- The newest term of each shard, where nobody noted its end.
SELECT shard, epoch, holder, DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       TIMESTAMPDIFF(MICROSECOND, started_at, UTC_TIMESTAMP(6)) DIV 1000 AS age_ms
FROM outbox_term t
WHERE EXISTS (SELECT 1 FROM outbox_term_log l WHERE l.shard = t.shard AND l.epoch = t.epoch AND l.ended_at IS NULL)
ORDER BY t.shard

-- name: operation
SELECT a.id, DATE_FORMAT(a.at, '%Y-%m-%dT%H:%i:%s.%fZ') AS at, a.who, a.action, a.why,
       CAST(a.details AS CHAR) AS details, a.part_of
FROM outbox_audit a WHERE a.id = ?

-- name: operation_page
SELECT id, message_id FROM outbox_audit WHERE part_of = ? AND id > ? ORDER BY id LIMIT ?

-- name: ordered_before
-- The messages of an ordering key that go out before one of it: the first, and how many, up to 10,000.
SELECT min(id) AS first, count(*) AS waiting FROM (
    SELECT id FROM outbox
    WHERE shard = ? AND channel = ? AND ordering_key = ? AND status = 'PENDING' AND id < ?
    ORDER BY id LIMIT 10000
) earlier

-- name: ordered_dead
-- The first dead letter of an ordering key before one of its messages: what such a key halts at, where its channel says
-- so. One that was cancelled halts nothing.
SELECT id, dead_reason FROM outbox
WHERE shard = ? AND channel = ? AND ordering_key = ? AND status = 'DEAD' AND id < ?
  AND NOT (dead_reason <=> 'cancelled')
ORDER BY id LIMIT 1

-- name: ordered_in_flight
-- A message of an ordering key that is in flight and comes after one of it: that one was redriven meanwhile, and waits.
SELECT o.id
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term) ON c.shard = ?1 AND c.epoch >= t.unsettled_from
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                      AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
WHERE t.shard = ?1 AND o.shard = ?1 AND o.channel = ?2 AND o.ordering_key = ?3 AND o.id > ?4
ORDER BY o.id LIMIT 1

-- name: outcomes_of
-- The messages whose keys begin so: those that tell of the outcomes of one message. (A key of an outcome holds no wildcard.)
-- The statement is sent as text: its texts all have the same collation, whatever that of the connection.
SELECT id, channel, status, DATE_FORMAT(created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS at
FROM outbox FORCE INDEX (outbox_idempotency_key)
WHERE idempotency_key LIKE CONCAT(?1, _utf8mb4 ':%') LIMIT ?2

-- name: pause
INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, by_hand_at)
VALUES (?1, COALESCE(UTC_TIMESTAMP(6) + INTERVAL 1000 * ?2 MICROSECOND, TIMESTAMP'9999-12-31 00:00:00'), ?3, 'hand', ?4,
        UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE
    paused_until = VALUES(paused_until), paused_by = VALUES(paused_by), pause_kind = VALUES(pause_kind),
    reason = VALUES(reason), by_hand_at = VALUES(by_hand_at)

-- name: paused_count
SELECT count(*) AS total FROM outbox_destination WHERE paused_until > UTC_TIMESTAMP(6)

-- name: paused_destinations
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

-- name: prepared
-- No trigger gives a hint here.
SELECT 0 AS most FROM (SELECT 1 AS one) none WHERE one = 0

-- name: recurring
-- All recurring messages, or the one of this name.
SELECT name, cron, timezone,
       CONCAT(LEFT(DATE_FORMAT(fired_for, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS fired_for,
       CONCAT(LEFT(DATE_FORMAT(next_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS next_at,
       CONCAT(LEFT(DATE_FORMAT(asked_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS asked_at,
       CONCAT(LEFT(DATE_FORMAT(paused_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS paused_at, paused_by
FROM outbox_recurring WHERE ?1 IS NULL OR name = ?1 ORDER BY name

-- name: recurring_ask
UPDATE outbox_recurring SET asked_at = UTC_TIMESTAMP(3) WHERE name = ? AND asked_at IS NULL

-- name: recurring_pause
UPDATE outbox_recurring SET paused_at = UTC_TIMESTAMP(3), paused_by = ?2, next_at = NULL WHERE name = ?1 AND paused_at IS NULL

-- name: recurring_resume
-- The times that passed meanwhile are nobody's.
UPDATE outbox_recurring SET paused_at = NULL, paused_by = NULL, since = UTC_TIMESTAMP(3) WHERE name = ? AND paused_at IS NOT NULL

-- name: redrive
-- A new life: attempts and age start anew. An expiry that has passed would end it at once.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$.id', due_us bigint PATH '$.due_us')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
SET o.status = 'PENDING', o.revision = o.revision + 1, o.attempts = 0, o.dead_reason = NULL, o.error_hash = NULL,
    o.finished_at = NULL, o.first_attempt_at = NULL, o.deferred_from = NULL,
    o.available_at = GREATEST(UTC_TIMESTAMP(6), TIMESTAMP'1970-01-01 00:00:00' + INTERVAL asked.due_us MICROSECOND),
    o.expires_at = IF(o.expires_at <= UTC_TIMESTAMP(6), NULL, o.expires_at)

-- name: replay
-- Rows that repeat others, in the order of those, each with the key that it is given. It waits behind what its ordering key has
-- now. Whatever the table checks of a row as it is born was decided about the first: hence the revision.
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, tenant, priority, shard, revision,
                    max_attempts, available_at, traceparent, tracestate, replay_of, sent_key, tags)
SELECT asked.idempotency_key, o.channel, o.target, o.payload, o.headers, o.ordering_key, o.tenant, o.priority, o.shard, 1,
       o.max_attempts,
       GREATEST(UTC_TIMESTAMP(6), TIMESTAMP'1970-01-01 00:00:00' + INTERVAL asked.due_us MICROSECOND),
       o.traceparent, o.tracestate, o.id, IF(asked.same_key, COALESCE(o.sent_key, o.idempotency_key), NULL), o.tags
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$.id', idempotency_key varchar(255) PATH '$.key', due_us bigint PATH '$.due_us',
                                   same_key boolean PATH '$.same_key')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id ORDER BY o.id

-- name: replay_page
-- The entries of a replay, each with the row that repeats its message.
SELECT id, CAST(JSON_VALUE(details, '$.replay') AS SIGNED) FROM outbox_audit WHERE part_of = ? AND id > ? ORDER BY id LIMIT ?

-- name: replayed
-- Those of the asked that were replayed before, unless that was taken back.
SELECT a.message_id
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_audit a ON a.message_id = asked.id
WHERE a.action = 'replay'
  AND NOT EXISTS (SELECT 1 FROM outbox_audit taken_back
                  WHERE taken_back.message_id = a.message_id AND taken_back.id > a.id AND taken_back.action = 'undo'
                    AND JSON_VALUE(taken_back.details, '$.replay') = JSON_VALUE(a.details, '$.replay'))

-- name: replays
-- The rows that were just written, by their keys: which repeats which.
SELECT o.id, o.replay_of
FROM JSON_TABLE(?, '$[*]' COLUMNS (idempotency_key varchar(255) CHARACTER SET utf8mb4 PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (outbox_idempotency_key) ON o.idempotency_key = asked.idempotency_key ORDER BY o.id

-- name: replica_forget
DELETE FROM outbox_replica WHERE seen_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY

-- name: replica_gone
DELETE FROM outbox_replica WHERE id = ?1

-- name: replica_seen
INSERT INTO outbox_replica
    (id, name, version, schema_version, address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble, started_at,
     seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE
    seen_at = VALUES(seen_at), address = VALUES(address), lease_store = VALUES(lease_store),
    settings_hash = VALUES(settings_hash), runs_by = VALUES(runs_by), counted_ms = VALUES(counted_ms),
    delivered = VALUES(delivered), failed = VALUES(failed), trouble = VALUES(trouble)

-- name: replicas
SELECT id, name, version, schema_version, DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       TIMESTAMPDIFF(MICROSECOND, seen_at, UTC_TIMESTAMP(6)) DIV 1000 AS seen_ms
FROM outbox_replica ORDER BY name, id

-- name: resume
-- As good as new: whatever paused it, and by however many failures.
UPDATE outbox_destination
SET paused_until = NULL, paused_by = NULL, pause_kind = NULL, reason = NULL, failures = 0, aside_until = NULL,
    by_hand_at = UTC_TIMESTAMP(6)
WHERE destination = ?

-- name: retry
-- Due now. Attempts and age stay: they go on.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
SET o.available_at = UTC_TIMESTAMP(6), o.revision = o.revision + 1

-- name: standing
-- Those of the asked that are there, locked, so that nobody decides about them meanwhile. The asked come by id. What a
-- transaction of somebody else holds is left out: claims wait for whoever waits here.
SELECT o.id, o.status FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id FOR UPDATE /*!80000 OF o */ SKIP LOCKED

-- name: status_of
SELECT status FROM outbox WHERE id = ?

-- name: tags_are_listed
-- By the file mysql_tags.sql.
SELECT COUNT(*) > 0 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'outbox_tag'

-- name: tenants
-- Who has most of what has been due for longest. Of each priority the first 10,000 messages without an ordering key are looked at,
-- however many wait. Tenants with few are left out.
SELECT channel, tenant, COUNT(*) AS due, TIMESTAMPDIFF(MICROSECOND, MIN(available_at), UTC_TIMESTAMP(6)) DIV 1000 AS lag_ms
FROM (
    (SELECT channel, COALESCE(tenant, destination) AS tenant, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 3 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, COALESCE(tenant, destination) AS tenant, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 2 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, COALESCE(tenant, destination) AS tenant, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 1 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, COALESCE(tenant, destination) AS tenant, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 0 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 10000)
) longest
GROUP BY channel, tenant HAVING COUNT(*) >= 100 ORDER BY due DESC, channel, tenant LIMIT 5

-- name: term_runs_by
UPDATE outbox_term_log SET instance = ?, version = ?, lease_store = ?, settings_hash = ?
WHERE shard = ? AND epoch = ? AND holder = ?

-- name: terms
-- The terms of a shard up to an epoch, the newest first, and when the next one began. Two ranges of the primary key: with a
-- subquery for each term MariaDB reads all that are older.
SELECT shard, epoch, holder,
       DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       DATE_FORMAT(ended_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS ended_at,
       ended_because, claimed, delivered, failed, in_doubt, instance, version, served_by,
       DATE_FORMAT(next_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS next_started_at, next_served_by
FROM (
    SELECT l.*, lead(started_at) OVER (ORDER BY epoch) AS next_at, lead(served_by) OVER (ORDER BY epoch) AS next_served_by
    FROM (
        SELECT * FROM (
            SELECT * FROM outbox_term_log WHERE shard = ?1 AND epoch > ?2 ORDER BY epoch LIMIT 1
        ) next
        UNION ALL
        SELECT * FROM (
            SELECT * FROM outbox_term_log WHERE shard = ?1 AND epoch <= ?2 ORDER BY epoch DESC LIMIT ?3
        ) these
    ) l
) l
WHERE epoch <= ?2 ORDER BY epoch DESC

-- name: terms_of_message
-- The terms that a message has to do with: those of its attempts, the one that led when it was finished, the newest.
SELECT l.shard, l.epoch, l.holder, DATE_FORMAT(l.started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       DATE_FORMAT(l.ended_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS ended_at, l.ended_because, l.claimed, l.delivered, l.failed, l.instance, l.version, l.served_by,
       (SELECT n.served_by FROM outbox_term_log n WHERE n.shard = l.shard AND n.epoch > l.epoch ORDER BY n.epoch LIMIT 1) AS next_served_by
FROM (
    SELECT a.epoch FROM outbox_attempt a WHERE a.message_id = ?1
    UNION
    (SELECT e.epoch FROM outbox o STRAIGHT_JOIN outbox_term_log e ON e.shard = o.shard
     WHERE o.id = ?1 AND e.started_at <= o.finished_at ORDER BY e.epoch DESC LIMIT 1)
    UNION
    SELECT t.epoch FROM outbox o JOIN outbox_term t ON t.shard = o.shard WHERE o.id = ?1
) meant
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = ?1
STRAIGHT_JOIN outbox_term_log l ON l.shard = o.shard AND l.epoch = meant.epoch
ORDER BY l.epoch

-- name: there
-- Those of the asked that are there, whoever holds them.
SELECT o.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id

-- name: undo
-- Back to what the entries of the redrive say that it overwrote.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_audit a FORCE INDEX (PRIMARY) ON a.id = asked.id
STRAIGHT_JOIN JSON_TABLE(a.details, '$' COLUMNS (
    dead_reason varchar(32) CHARACTER SET utf8mb4 PATH '$.dead_reason', attempts smallint PATH '$.attempts',
    error_hash varchar(16) CHARACTER SET utf8mb4 PATH '$.error_hash',
    first_attempt_at varchar(32) CHARACTER SET utf8mb4 PATH '$.first_attempt_at',
    finished_at varchar(32) CHARACTER SET utf8mb4 PATH '$.finished_at',
    expires_at varchar(32) CHARACTER SET utf8mb4 PATH '$.expires_at')) was
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = a.message_id
SET o.status = 'DEAD', o.revision = o.revision + 1, o.deferred_from = NULL,
    o.dead_reason = was.dead_reason, o.attempts = was.attempts, o.error_hash = was.error_hash,
    o.first_attempt_at = STR_TO_DATE(was.first_attempt_at, '%Y-%m-%dT%H:%i:%s.%fZ'),
    o.finished_at = STR_TO_DATE(was.finished_at, '%Y-%m-%dT%H:%i:%s.%fZ'),
    o.expires_at = STR_TO_DATE(was.expires_at, '%Y-%m-%dT%H:%i:%s.%fZ')

-- name: undoable
-- Of the entries of a redrive, those whose message waits as the redrive left it: no attempt, and nobody's hand, since.
SELECT a.id, a.message_id
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_audit a FORCE INDEX (PRIMARY) ON a.id = asked.id
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = a.message_id
WHERE 1 = 1
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = a.message_id AND later.id > a.id)

-- name: undoable_replays
-- Of the entries of a replay, those whose row waits as the replay wrote it: no attempt, and nobody's hand, since. With the row, and
-- the message that it repeats.
SELECT a.id, o.id, a.message_id
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_audit a FORCE INDEX (PRIMARY) ON a.id = asked.id
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = CAST(JSON_VALUE(a.details, '$.replay') AS SIGNED)
WHERE 1 = 1
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = o.id)

-- name: unsettled_claims
SELECT COUNT(*)
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term)
              ON c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
WHERE c.superseded_at IS NOT NULL

-- name: waits_for
-- What the asked wait for, which are locked: nothing, the end of a deferral, another attempt or the first.
SELECT o.id, o.available_at <= UTC_TIMESTAMP(6) AS due, o.deferred_from IS NOT NULL AS deferred,
       o.first_attempt_at IS NOT NULL AS tried
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
