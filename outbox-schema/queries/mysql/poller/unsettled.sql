-- Rows that may still be in flight under claims of earlier terms. A row that its poller has marked since is not among them.
SELECT o.id,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), c.superseded_at) DIV 1000
       + CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END AS settles_in_ms
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term)
              ON c.shard = ?1 AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                      AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
WHERE t.shard = ?1 AND c.superseded_at IS NOT NULL
