-- Of the due rows of one priority in a stretch: those of these tenants for destinations that take something.
SELECT o.id, CAST(o.available_at AS CHAR) AS at, o.revision, o.channel, o.destination, o.priority,
       o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) AS bytes,
       FALSE AS ordered, CAST(NULL AS SIGNED) AS start_us
FROM outbox o FORCE INDEX (outbox_due)
WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2 AND o.available_at <= UTC_TIMESTAMP(6)
  AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
  AND (?5 IS NULL OR o.available_at < ?5 OR (o.available_at = ?5 AND o.id <= ?6))
  AND o.destination IN (SELECT c.name FROM JSON_TABLE(?7, '$[*]' COLUMNS (
          name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
  AND o.id NOT IN (SELECT x.id FROM JSON_TABLE(?8, '$[*]' COLUMNS (id bigint PATH '$')) x)
  AND (o.channel, o.tenant) IN (SELECT met.channel, met.tenant FROM JSON_TABLE(?9, '$[*]' COLUMNS (
          channel varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.channel',
          tenant varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.tenant')) met)
ORDER BY o.available_at, o.id LIMIT ?10
