-- name: awaited
-- Who polled in the ten seconds before the last that the log knows, was seen of late, and has told nothing of this change.
SELECT DISTINCT r.id
FROM (SELECT SUBSTRING_INDEX(holder, '.', 1) AS id, started_at, ended_at
      FROM outbox_term_log WHERE shard = ?1 ORDER BY epoch DESC LIMIT 100) n
STRAIGHT_JOIN outbox_replica r FORCE INDEX (PRIMARY) ON r.id = n.id
WHERE r.id <> ?2
  AND (n.ended_at IS NULL OR n.ended_at >= (
      SELECT MAX(GREATEST(started_at, COALESCE(ended_at, started_at))) FROM outbox_term_log WHERE shard = ?1) - INTERVAL 10 SECOND)
  AND r.seen_at >= (SELECT MAX(seen_at) FROM outbox_replica) - INTERVAL 75 SECOND
  AND NOT EXISTS (SELECT 1 FROM (SELECT who, action, why FROM outbox_audit ORDER BY id DESC LIMIT 1000) a
                  WHERE a.action = 'failover' AND a.who = r.id AND a.why = ?3)

-- name: claim
-- A claim that a failover lost, made again of what is left of it. Its term is over, and the database may have forgotten it: then no
-- term that begins would supersede it.
INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms, at_most_once,
                          gate_closed_at, superseded_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?7 MICROSECOND, ?8, ?9, ?10,
        UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))

-- name: claims
-- The rows of all claims that stand.
SELECT c.id, sent.id AS message_id, CAST(JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']')) AS SIGNED) AS revision
FROM outbox_claim c
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
WHERE c.shard = ?

-- name: lock
-- No term begins, and nobody claims, until the end of this transaction.
SELECT epoch FROM outbox_term WHERE shard = ? FOR UPDATE

-- name: rows
-- Rows as they are, each with the key that its receiver gets.
SELECT o.id, o.revision, o.status = 'PENDING' AS is_pending, COALESCE(o.sent_key, o.idempotency_key) AS sent_key
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id

-- name: served_by
-- The lineage in which the newest term was minted.
SELECT l.served_by FROM outbox_term t JOIN outbox_term_log l ON l.shard = t.shard AND l.epoch = t.epoch WHERE t.shard = ?

-- name: tell
INSERT INTO outbox_audit (who, action, why, details) VALUES (?1, 'failover', ?2, ?3)

-- name: tell_lost
-- Without message_id: another message may have the id by now.
INSERT INTO outbox_audit (who, action, part_of, details)
SELECT ?1, 'failover', ?2, JSON_SET(JSON_REMOVE(lost.message, '$.sent_ms_ago'), '$.sent_at', DATE_FORMAT(
           UTC_TIMESTAMP(6) - INTERVAL JSON_VALUE(lost.message, '$.sent_ms_ago') * 1000 MICROSECOND, '%Y-%m-%dT%H:%i:%s.%fZ'))
FROM JSON_TABLE(?3, '$[*]' COLUMNS (message json PATH '$')) AS lost

-- name: told
-- Whether an entry was written already, and its answer lost: it is among the newest.
SELECT a.id FROM (SELECT id, action, details FROM outbox_audit ORDER BY id DESC LIMIT 1000) a
WHERE a.action = 'failover' AND JSON_VALUE(a.details, '$.entry') = ?
