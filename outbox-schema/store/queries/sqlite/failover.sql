-- name: awaited
-- Who polled in the ten seconds before the last that the log knows, was seen of late, and has told nothing of this change.
WITH newest AS (
    SELECT substr(holder, 1, instr(holder, '.') - 1) AS id, started_at, ended_at
    FROM outbox_term_log WHERE shard = ?1 ORDER BY epoch DESC LIMIT 100
)
SELECT DISTINCT r.id FROM newest n JOIN outbox_replica r ON r.id = n.id
WHERE r.id <> ?2
  AND (n.ended_at IS NULL OR n.ended_at >= (SELECT max(max(started_at, coalesce(ended_at, started_at))) FROM newest) - 10000)
  AND r.seen_at >= (SELECT max(seen_at) FROM outbox_replica) - 75000
  AND NOT EXISTS (SELECT 1 FROM (SELECT who, action, why FROM outbox_audit ORDER BY id DESC LIMIT 1000) a
                  WHERE a.action = 'failover' AND a.who = r.id AND a.why = ?3)

-- name: claim
-- A claim that a failover lost, made again of what is left of it. Its term is over, and the database may have forgotten it: then no
-- term that begins would supersede it.
INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms, at_most_once,
                          gate_closed_at, superseded_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7 / 1000, ?8, ?9, ?10,
        CAST(round(unixepoch('subsec') * 1000) AS INTEGER), CAST(round(unixepoch('subsec') * 1000) AS INTEGER))

-- name: claims
-- The rows of all claims that stand.
SELECT c.id, sent.value, c.revisions ->> sent.key FROM outbox_claim c CROSS JOIN json_each(c.message_ids) sent WHERE c.shard = ?1

-- name: lock
-- Nobody else writes until the end of this transaction.
SELECT epoch FROM outbox_term WHERE shard = ?1

-- name: rows
-- Rows as they are, each with the key that its receiver gets.
SELECT o.id, o.revision, o.status = 'PENDING' AS is_pending, coalesce(o.sent_key, o.idempotency_key) AS sent_key
FROM json_each(?1) asked CROSS JOIN outbox o ON o.id = asked.value

-- name: served_by
-- The lineage in which the newest term was minted.
SELECT l.served_by FROM outbox_term t JOIN outbox_term_log l ON l.shard = t.shard AND l.epoch = t.epoch WHERE t.shard = ?1

-- name: tell
INSERT INTO outbox_audit (who, action, why, details) VALUES (?1, 'failover', ?2, ?3) RETURNING id

-- name: tell_lost
-- Without message_id: another message may have the id by now.
INSERT INTO outbox_audit (who, action, part_of, details)
SELECT ?1, 'failover', ?2, json_set(json_remove(lost.value, '$.sent_ms_ago'), '$.sent_at',
           strftime('%Y-%m-%dT%H:%M:%fZ', (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - (lost.value ->> 'sent_ms_ago')) / 1000.0,
                    'unixepoch'))
FROM json_each(?3) AS lost

-- name: told
-- Whether an entry was written already, and its answer lost: it is among the newest.
SELECT a.id FROM (SELECT id, action, details FROM outbox_audit ORDER BY id DESC LIMIT 1000) a
WHERE a.action = 'failover' AND a.details ->> 'entry' = ?1
