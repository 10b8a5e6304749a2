-- The tenants that have due rows of one priority, in a stretch, for destinations that take something, and whose first row goes to one that
-- takes nothing. A tenant that is a destination has no such rows.
--
-- MySQL sorts all rows of a tenant where their order does not begin with `turn`, which is no constant here. MariaDB knows no column of the
-- outer statement on the left of IN: so IN is within.
SELECT met.channel, met.tenant FROM (
    SELECT DISTINCT o.channel, o.tenant, o.turn
    FROM outbox o FORCE INDEX (outbox_due)
    WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2 AND o.available_at <= UTC_TIMESTAMP(6)
      AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
      AND (?5 IS NULL OR o.available_at < ?5 OR (o.available_at = ?5 AND o.id <= ?6))
      AND o.tenant IS NOT NULL
      AND o.destination IN (SELECT c.name FROM JSON_TABLE(?7, '$[*]' COLUMNS (
              name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
) met
WHERE (SELECT first.destination NOT IN (SELECT c.name FROM JSON_TABLE(?7, '$[*]' COLUMNS (
                  name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
       FROM outbox first FORCE INDEX (outbox_turns)
       WHERE first.shard = ?1 AND first.turn = met.turn AND first.priority = ?2 AND first.available_at <= UTC_TIMESTAMP(6)
       ORDER BY first.turn, first.priority, first.available_at, first.id LIMIT 1)
LIMIT 4096
