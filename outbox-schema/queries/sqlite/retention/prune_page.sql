-- A stretch of the outbox in the order of ids, from behind the first parameter: how far each row is past its time (below
-- zero: it has time left; NULL: it is kept), and whether nothing of it or behind it can be. A row that was created within
-- the shortest time to keep (the last parameter) cannot be past it; a date in the future proves nothing.
SELECT id, status,
       CASE status WHEN 'SUCCESS' THEN age_ms - ?3 WHEN 'DEAD' THEN age_ms - ?4 END AS overdue_ms,
       created_at <= now_ms AND created_at > now_ms - ?5 AS young
FROM (SELECT id, status, created_at, now_ms, CAST(now_ms - coalesce(finished_at, created_at) AS INTEGER) AS age_ms
      FROM outbox,
           (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
      WHERE id > ?1 ORDER BY id LIMIT ?2)
ORDER BY id
