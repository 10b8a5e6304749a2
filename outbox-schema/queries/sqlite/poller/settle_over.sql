-- Claims whose settling time is over, or of which nothing is left to decide: those need not wait.
SELECT c.id
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
WHERE t.shard = ?1 AND c.superseded_at IS NOT NULL
  AND (c.superseded_at + CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END
       <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
       OR NOT EXISTS (
           SELECT 1 FROM json_each(c.message_ids) sent
           CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key AND o.status = 'PENDING'))
ORDER BY c.id
