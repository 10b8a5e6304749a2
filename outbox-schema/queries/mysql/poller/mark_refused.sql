-- Of the marks that were refused, those that find the row elsewhere than where they would have put it, and whether it is where its
-- claim found it. A mark that finds its own effect, and its attempt where it records one, is a repeated mark. Nothing is locked.
SELECT m.id, COALESCE(o.revision = m.revision AND o.status = 'PENDING', FALSE) AS unchanged
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    id bigint PATH '$.id', revision integer PATH '$.revision',
    status varchar(16) CHARACTER SET utf8mb4 PATH '$.status', record boolean PATH '$.record',
    number integer PATH '$.number', epoch bigint PATH '$.epoch',
    holder varchar(255) CHARACTER SET utf8mb4 PATH '$.holder',
    outcome varchar(32) CHARACTER SET utf8mb4 PATH '$.outcome')) m
LEFT JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = m.id
WHERE o.id IS NULL OR o.revision <> m.revision + 1 OR o.status <> m.status
   OR (m.record AND NOT EXISTS (
        SELECT 1 FROM outbox_attempt a WHERE a.message_id = m.id AND a.epoch = m.epoch
        AND a.holder = m.holder AND a.number = m.number AND a.outcome = m.outcome))
