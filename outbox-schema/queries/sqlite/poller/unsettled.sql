-- Rows that may still be in flight under claims of earlier terms. A row that its poller has marked since is not among them.
SELECT o.id,
       c.superseded_at - CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
       + CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END AS settles_in_ms
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
CROSS JOIN json_each(c.message_ids) sent
CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key AND o.status = 'PENDING'
WHERE t.shard = ?1 AND c.superseded_at IS NOT NULL
