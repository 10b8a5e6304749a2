-- Of rows and the revision of each, those that a claim may take: waiting, due, of a configured channel, and first of their
-- ordering key. A dead letter halts its key where its channel says so.
SELECT sent.place, o.id, o.revision
FROM JSON_TABLE(?, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$[0]', revision integer PATH '$[1]')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
STRAIGHT_JOIN JSON_TABLE(?, '$[*]' COLUMNS (
        name varchar(64) CHARACTER SET utf8mb4 PATH '$.name', halt boolean PATH '$.halt')) known ON known.name = o.channel
WHERE o.shard = ? AND o.available_at <= UTC_TIMESTAMP(6)
  AND (o.ordering_key IS NULL OR (
      o.id = (SELECT e.id FROM outbox e FORCE INDEX (outbox_ordered)
              WHERE e.status = 'PENDING' AND e.shard = o.shard AND e.ordering_key = o.ordering_key AND e.channel = o.channel
              ORDER BY e.id LIMIT 1)
      AND (NOT known.halt OR COALESCE((SELECT d.id FROM outbox d FORCE INDEX (outbox_ordered)
                                       WHERE d.status = 'DEAD' AND d.shard = o.shard AND d.ordering_key = o.ordering_key
                                         AND d.channel = o.channel AND COALESCE(d.dead_reason, '') <> 'cancelled'
                                       ORDER BY d.id LIMIT 1), o.id) >= o.id)))
