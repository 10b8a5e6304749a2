-- Of rows and the revision of each, those that a claim may take: waiting, due, of a configured channel, and first of their
-- ordering key. A dead letter halts its key where its channel says so.
SELECT sent.key AS place, o.id, o.revision
FROM json_each(?1) sent CROSS JOIN outbox o ON o.id = sent.value ->> 0 AND o.revision = sent.value ->> 1
CROSS JOIN json_each(?2) known ON known.value ->> 'name' = o.channel
WHERE o.shard = ?3 AND o.status = 'PENDING' AND o.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND (o.ordering_key IS NULL OR (
      NOT EXISTS (
          SELECT 1 FROM outbox earlier INDEXED BY outbox_ordered
          WHERE earlier.shard = ?3 AND earlier.status = 'PENDING' AND earlier.ordering_key = o.ordering_key
            AND earlier.channel = o.channel AND earlier.id < o.id)
      AND (NOT known.value ->> 'halt' OR NOT EXISTS (
          SELECT 1 FROM outbox dead INDEXED BY outbox_halting
          WHERE dead.shard = ?3 AND dead.channel = o.channel AND dead.ordering_key = o.ordering_key
            AND dead.id < o.id AND dead.status = 'DEAD' AND dead.dead_reason IS NOT 'cancelled'))))
