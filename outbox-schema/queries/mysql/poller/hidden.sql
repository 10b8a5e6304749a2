-- Of the due rows of one priority, so many behind a place: those whose destinations take something, where the first row of their tenant
-- goes to one that takes nothing; and the last one looked at, with its number. A tenant that is a destination has no such rows.
SELECT id, revision, channel, destination, bytes, priority, FALSE AS ordered, CAST(NULL AS SIGNED) AS start_us, at, nth, hidden FROM (
    SELECT numbered.*,
           COALESCE(first_to NOT IN (SELECT c.name FROM JSON_TABLE(?6, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c), FALSE) AS hidden
    FROM (
        SELECT looked.*, CAST(ROW_NUMBER() OVER (ORDER BY looked.available_at, looked.id) AS SIGNED) AS nth, COUNT(*) OVER () AS many,
               CASE WHEN looked.tenant IS NOT NULL
                         AND looked.destination IN (SELECT c.name FROM JSON_TABLE(?6, '$[*]' COLUMNS (
                             name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
                         AND looked.id NOT IN (SELECT x.id FROM JSON_TABLE(?7, '$[*]' COLUMNS (id bigint PATH '$')) x)
                    THEN (SELECT first.destination FROM outbox first FORCE INDEX (outbox_turns)
                          WHERE first.shard = ?1 AND first.turn = looked.turn AND first.priority = ?2
                            AND first.available_at <= UTC_TIMESTAMP(6)
                          ORDER BY first.available_at, first.id LIMIT 1) END AS first_to
        FROM (
            SELECT o.id, o.revision, o.channel, o.destination, o.priority, o.available_at, CAST(o.available_at AS CHAR) AS at,
                   o.tenant, o.turn, o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) AS bytes
            FROM outbox o FORCE INDEX (outbox_due)
            WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2
              AND o.available_at <= UTC_TIMESTAMP(6)
              AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
            ORDER BY o.available_at, o.id LIMIT ?5) looked
    ) numbered
) due
WHERE hidden OR nth = many ORDER BY nth LIMIT ?8
