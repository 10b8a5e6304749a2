-- Of the due rows of one priority in a stretch: those whose destinations take something, where the first row of their tenant goes to one
-- that takes nothing. A tenant that is a destination has no such rows.
--
-- Without CASE, MySQL looks for the first row of a tenant beside each row. It sorts all rows of a tenant where their order does not begin
-- with `turn`, which is no constant here. MariaDB knows no column of the outer statement on the left of IN: so IN is within.
SELECT o.id, CAST(o.available_at AS CHAR) AS at, o.revision, o.channel, o.destination, o.priority,
       o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) AS bytes,
       FALSE AS ordered, CAST(NULL AS SIGNED) AS start_us
FROM outbox o FORCE INDEX (outbox_due)
WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2 AND o.available_at <= UTC_TIMESTAMP(6)
  AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
  AND (?5 IS NULL OR o.available_at < ?5 OR (o.available_at = ?5 AND o.id <= ?6))
  AND o.tenant IS NOT NULL
  AND CASE WHEN o.destination IN (SELECT c.name FROM JSON_TABLE(?7, '$[*]' COLUMNS (
                    name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
                AND o.id NOT IN (SELECT x.id FROM JSON_TABLE(?8, '$[*]' COLUMNS (id bigint PATH '$')) x)
           THEN (SELECT first.destination NOT IN (SELECT c.name FROM JSON_TABLE(?7, '$[*]' COLUMNS (
                            name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
                 FROM outbox first FORCE INDEX (outbox_turns)
                 WHERE first.shard = ?1 AND first.turn = o.turn AND first.priority = ?2 AND first.available_at <= UTC_TIMESTAMP(6)
                 ORDER BY first.turn, first.priority, first.available_at, first.id LIMIT 1)
           ELSE FALSE END
ORDER BY o.available_at, o.id LIMIT ?9
