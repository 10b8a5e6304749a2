-- Claims whose settling time is over, or of which nothing is left to decide: those need not wait. Revisions only rise and time
-- goes on, so this stays true. Not locked here: see unsuperseded.sql.
SELECT c.id
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term)
              ON c.shard = ?1 AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
WHERE t.shard = ?1 AND c.superseded_at IS NOT NULL
  AND (c.superseded_at + INTERVAL 1000
       * CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END MICROSECOND <= UTC_TIMESTAMP(6)
       OR c.id NOT IN (
           SELECT c.id
           FROM outbox_term t
           STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term)
                         ON c.shard = ?1 AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
           STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
           STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                                 AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
           WHERE t.shard = ?1 AND c.superseded_at IS NOT NULL))
ORDER BY c.id
