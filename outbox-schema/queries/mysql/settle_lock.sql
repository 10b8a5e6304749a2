SELECT id FROM outbox_claim
WHERE shard = ? AND superseded_at + INTERVAL 1000
      * CASE WHEN gate_closed_at IS NULL THEN settling_ms ELSE settling_closed_ms END MICROSECOND <= UTC_TIMESTAMP(6)
ORDER BY id FOR UPDATE
