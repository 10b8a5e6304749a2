-- Claims whose settling time is over, or of which nothing is left to decide: those need not wait. Revisions only rise and time
-- goes on, so this stays true. Not locked here: see unsuperseded.sql.
SELECT id FROM outbox_claim
WHERE shard = ? AND superseded_at IS NOT NULL
  AND (superseded_at + INTERVAL 1000
       * CASE WHEN gate_closed_at IS NULL THEN settling_ms ELSE settling_closed_ms END MICROSECOND <= UTC_TIMESTAMP(6)
       OR id NOT IN (
           SELECT c.id FROM outbox_claim c
           STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
           STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                                 AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
           WHERE c.superseded_at IS NOT NULL))
ORDER BY id
