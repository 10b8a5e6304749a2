-- Claims whose settling time is over.
SELECT id FROM outbox_claim
WHERE shard = ?1 AND superseded_at + CASE WHEN gate_closed_at IS NULL THEN settling_ms ELSE settling_closed_ms END
      <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
ORDER BY id
