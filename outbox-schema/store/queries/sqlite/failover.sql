-- name: claim
-- A claim that a failover lost, made again of what is left of it.
INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms, at_most_once,
                          gate_closed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - ?7, ?8, ?9, ?10,
        CAST(round(unixepoch('subsec') * 1000) AS INTEGER))

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
           strftime('%Y-%m-%dT%H:%M:%fZ', unixepoch('subsec') - (lost.value ->> 'sent_ms_ago') / 1000.0, 'unixepoch'))
FROM json_each(?3) AS lost

-- name: told
-- Whether an entry was written already, and its answer lost: it is among the newest.
SELECT a.id FROM (SELECT id, action, details FROM outbox_audit ORDER BY id DESC LIMIT 1000) a
WHERE a.action = 'failover' AND a.details ->> 'entry' = ?1
