-- Rows that were put aside or put off, counted, and for how long the oldest has been due: of all destinations, or of one
-- destination or channel.
SELECT destination, channel, COUNT(*) AS waiting,
       TIMESTAMPDIFF(MICROSECOND, MIN(deferred_from), UTC_TIMESTAMP(6)) DIV 1000 AS oldest_ms
FROM outbox FORCE INDEX (outbox_deferred)
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR destination = ?1 OR channel = ?1)
GROUP BY destination, channel
