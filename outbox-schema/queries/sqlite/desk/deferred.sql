-- Rows that were put aside or put off, counted, and for how long the oldest has been due: of all destinations, or of one
-- destination or channel.
SELECT destination, channel, count(*) AS waiting,
       CAST(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - min(deferred_from) AS INTEGER) AS oldest_ms
FROM outbox INDEXED BY outbox_deferred
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR destination = ?1 OR channel = ?1)
GROUP BY destination, channel
