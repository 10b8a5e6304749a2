-- Of the due rows of one priority, so many behind a place: those of destinations and channels that take nothing for now, and the
-- last one looked at, with its number.
SELECT id, at, destination, channel, nth FROM (
    SELECT id, at, destination, channel, row_number() OVER (ORDER BY available_at, id) AS nth, count(*) OVER () AS many FROM (
        SELECT id, available_at, CAST(available_at AS TEXT) AS at, destination, channel
        FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = ?2
          AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
          AND (available_at, id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
        ORDER BY available_at, id LIMIT ?5)
)
WHERE nth = many OR destination IN (SELECT value FROM json_each(?6)) OR channel IN (SELECT value FROM json_each(?7))
ORDER BY nth LIMIT ?8
