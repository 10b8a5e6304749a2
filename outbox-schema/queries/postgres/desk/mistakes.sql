-- What the newest messages show of mistakes: payloads encoded twice, times of another zone, times to come.
WITH newest AS (
    SELECT payload, available_at, created_at, attempts FROM outbox ORDER BY id DESC LIMIT 1000
), seen AS (
    SELECT jsonb_typeof(payload) = 'string' AND left(ltrim(payload #>> '{}', E' \t\r\n'), 1) IN ('{', '[') AS encoded_twice,
           CASE WHEN attempts = 0 AND isfinite(available_at) AND isfinite(created_at)
                THEN extract(epoch FROM available_at - created_at)::bigint END AS delay,
           created_at > now() + interval '1 minute' AS in_future
    FROM newest
)
SELECT count(*) AS looked_at, count(*) FILTER (WHERE encoded_twice) AS encoded_twice,
       count(*) FILTER (WHERE delay < -60 OR delay BETWEEN 3540 AND 50460 AND (delay + 60) % 3600 <= 120) AS whole_hours,
       count(*) FILTER (WHERE in_future) AS in_future
FROM seen
