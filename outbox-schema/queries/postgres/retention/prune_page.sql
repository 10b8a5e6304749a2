-- A stretch of the outbox in the order of ids, from behind the first parameter: how far each row is past its time (below
-- zero: it has time left; NULL: it is kept), and whether nothing of it or behind it can be. A row that was created within
-- the shortest time to keep (the last parameter) cannot be past it; a date in the future proves nothing.
SELECT id, status,
       CASE status WHEN 'SUCCESS' THEN age_ms - $3 WHEN 'DEAD' THEN age_ms - $4 END AS overdue_ms,
       (created_at <= now() AND created_at > now() - $5 * interval '1 ms')::integer::bigint AS young
FROM (SELECT id, status, created_at,
             (extract(epoch FROM now() - greatest(least(coalesce(finished_at, created_at), now()),
                                                  timestamptz '1970-01-01 00:00:00+00')) * 1000)::bigint AS age_ms
      FROM outbox WHERE id > $1 ORDER BY id LIMIT $2) page
ORDER BY id
