-- Rows that may still be in flight under claims of earlier terms. A row that its poller has marked since is not among them.
SELECT o.id,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), c.superseded_at) DIV 1000
       + CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END AS settles_in_ms
FROM outbox_claim c
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                      AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
WHERE c.shard = ? AND c.superseded_at IS NOT NULL
