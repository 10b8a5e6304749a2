-- name: encrypted
SELECT 'cipher', ''

-- name: mistakes
-- What the newest messages show of mistakes: payloads encoded twice, times of another zone, times to come.
WITH newest AS (
    SELECT payload, available_at, created_at, attempts FROM outbox ORDER BY id DESC LIMIT 1000
), seen AS (
    SELECT json_type(payload) = 'text' AND substr(ltrim(json_extract(payload, '$'), ' ' || char(9, 10, 13)), 1, 1) IN ('{', '[')
               AS encoded_twice,
           CASE WHEN attempts = 0 THEN CAST((available_at - created_at) / 1000 AS INTEGER) END AS delay,
           created_at > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + 60000 AS in_future
    FROM newest
)
SELECT count(*) AS looked_at, count(CASE WHEN encoded_twice THEN 1 END) AS encoded_twice,
       count(CASE WHEN delay < -60 OR delay BETWEEN 3540 AND 50460 AND (delay + 60) % 3600 <= 120 THEN 1 END) AS whole_hours,
       count(CASE WHEN in_future THEN 1 END) AS in_future
FROM seen
