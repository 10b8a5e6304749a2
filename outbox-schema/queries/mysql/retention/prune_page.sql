-- A stretch of the outbox in the order of ids, from behind the first parameter: how far each row is past its time (below
-- zero: it has time left; NULL: it is kept), and whether nothing of it or behind it can be. A row that was created within
-- the shortest time to keep (the last parameter) cannot be past it; a date in the future proves nothing.
SELECT id, status,
       CASE status WHEN 'SUCCESS' THEN age_ms - ?3 WHEN 'DEAD' THEN age_ms - ?4 END AS overdue_ms,
       CAST(created_at <= UTC_TIMESTAMP(6) AND created_at > UTC_TIMESTAMP(6) - INTERVAL ?5 * 1000 MICROSECOND AS SIGNED)
           AS young
FROM (SELECT id, status, created_at,
             TIMESTAMPDIFF(MICROSECOND, COALESCE(finished_at, created_at), UTC_TIMESTAMP(6)) DIV 1000 AS age_ms
      FROM outbox WHERE id > ?1 ORDER BY id LIMIT ?2) page
ORDER BY id
