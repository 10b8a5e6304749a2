-- Rows that may still be in flight under claims of earlier terms. A row that its poller has marked since is not among them.
SELECT o.id,
       (extract(epoch FROM c.superseded_at - clock_timestamp()) * 1000)::bigint
       + CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END AS settles_in_ms
FROM outbox_term t
-- By the index of claims, however few of them PostgreSQL takes the table to have.
CROSS JOIN LATERAL (
    SELECT * FROM outbox_claim c
    WHERE c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch AND c.superseded_at IS NOT NULL OFFSET 0) c
CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
WHERE t.shard = $1
