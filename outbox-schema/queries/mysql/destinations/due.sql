-- Of the due rows of one priority, so many behind a place: those of destinations and channels that take nothing for now, and the
-- last one looked at, with its number. Nothing is locked here, see locked.sql.
SELECT id, at, destination, channel, nth FROM (
    SELECT looked.*, CAST(ROW_NUMBER() OVER (ORDER BY looked.available_at, looked.id) AS SIGNED) AS nth,
           COUNT(*) OVER () AS many FROM (
        SELECT o.id, o.available_at, CAST(o.available_at AS CHAR) AS at, o.destination, o.channel
        FROM outbox o FORCE INDEX (outbox_due)
        WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2
          AND o.available_at <= UTC_TIMESTAMP(6)
          AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
        ORDER BY o.available_at, o.id LIMIT ?5) looked
) numbered
WHERE nth = many
   OR destination IN (SELECT c.name FROM JSON_TABLE(?6, '$[*]' COLUMNS (
                          name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
   OR channel IN (SELECT c.name FROM JSON_TABLE(?7, '$[*]' COLUMNS (
                      name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
ORDER BY nth LIMIT ?8
