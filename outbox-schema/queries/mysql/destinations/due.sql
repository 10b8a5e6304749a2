-- Of the due rows of one priority in a stretch: those of destinations and channels that take nothing for now. Nothing is locked here, see
-- locked.sql.
SELECT o.id, CAST(o.available_at AS CHAR) AS at FROM outbox o FORCE INDEX (outbox_due)
WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2 AND o.available_at <= UTC_TIMESTAMP(6)
  AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
  AND (?5 IS NULL OR o.available_at < ?5 OR (o.available_at = ?5 AND o.id <= ?6))
  AND (o.destination IN (SELECT c.name FROM JSON_TABLE(?7, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
       OR o.channel IN (SELECT c.name FROM JSON_TABLE(?8, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c))
ORDER BY o.available_at, o.id LIMIT ?9
