-- Rows that were put aside or put off, counted, and for how long the oldest has been due: of all destinations, or of one
-- destination or channel.
SELECT destination, channel, count(*) AS waiting,
       CASE WHEN isfinite(min(deferred_from)) THEN (extract(epoch FROM now() - min(deferred_from)) * 1000)::bigint END AS oldest_ms
FROM outbox
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND ($1::text IS NULL OR destination = $1 OR channel = $1)
GROUP BY destination, channel
