-- Due rows, highest priority and longest due first: those to claim, and those of unknown channels that the walk met and
-- that are to be moved out of its way, told apart by `claimed`. Closed destinations and channels are passed over; of each
-- other destination no more are claimed than there is room for.
--
-- A branch for each priority, each ended by its LIMIT: sorting by priority would read the backlog. The indexes are
-- forced because an optimizer that misjudges them scans the history. What is excluded is a NOT IN, a filter: a join
-- could be put first and the order of the index be lost. Each branch begins behind the row that it is given, if any: see
-- WalkStart. No start is younger than a second, because transactions that began a moment ago may be committing still. Without
-- one there is no bound, for 0000-00-00 comes before every moment. Neither it nor 2026-00-00 is one: TIMESTAMPDIFF says NULL.
--
-- The heads of ordering keys are given: see claim_heads.sql. A key with a row in flight has its turn: a redriven row of it
-- that goes before waits for that one.
SELECT walked.claimed,
       o.id, o.revision, o.idempotency_key, o.channel, o.target, o.destination,
       IF(walked.claimed, CAST(o.payload AS CHAR), '') AS payload, CAST(o.headers AS CHAR) AS headers,
       o.attempts, o.max_attempts,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), o.expires_at) DIV 1000 AS expires_in_ms,
       TIMESTAMPDIFF(MICROSECOND, o.first_attempt_at, UTC_TIMESTAMP(6)) DIV 1000 AS retrying_for_ms,
       COALESCE(TIMESTAMPDIFF(MICROSECOND, o.created_at, UTC_TIMESTAMP(6)) DIV 1000, 0) AS waited_ms,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', o.created_at) DIV 1000 AS created_ms,
       o.ordering_key, o.traceparent, o.tracestate,
       -- Asked of each row only where there are any.
       IF((SELECT COUNT(*) FROM (SELECT 1 FROM outbox_invalid_target LIMIT 1) gone) = 0, FALSE, EXISTS (
           SELECT 1 FROM outbox_invalid_target gone
           WHERE gone.channel = o.channel AND gone.target_hash = SHA2(o.target, 256))) AS target_is_gone, o.priority,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', LEAST(o.available_at, UTC_TIMESTAMP(6) - INTERVAL 1 SECOND)) AS start_us,
       CAST(walked.nth AS SIGNED) AS nth
FROM (
    SELECT met.id, met.claimed, met.nth,
           ROW_NUMBER() OVER (PARTITION BY met.claimed
                              ORDER BY met.priority DESC, met.available_at, met.id) AS place,
           SUM(met.payload_bytes) OVER (PARTITION BY met.claimed
                                        ORDER BY met.priority DESC, met.available_at, met.id
                                        ROWS UNBOUNDED PRECEDING) AS bytes_so_far
    FROM (
        SELECT due.id, due.payload_bytes, due.priority, due.available_at,
               known.name IS NOT NULL AS claimed, LEAST(COALESCE(limited.room, known.room), known.most) AS room,
               ROW_NUMBER() OVER (PARTITION BY known.name IS NOT NULL, due.destination
                                  ORDER BY due.priority DESC, due.available_at, due.id) AS place_there,
               ROW_NUMBER() OVER (PARTITION BY known.name IS NOT NULL, due.priority
                                  ORDER BY due.available_at, due.id) AS nth
        FROM (SELECT * FROM (
        (SELECT id, channel, destination, payload_bytes, priority, available_at FROM outbox FORCE INDEX (outbox_due)
         WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL
           AND priority = 3 AND available_at <= UTC_TIMESTAMP(6)
           AND (? OR available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND
                OR (available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND AND id > ?))
           AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
           AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                   name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
           AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                   name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
         ORDER BY available_at, id LIMIT ?)
        UNION ALL
        (SELECT id, channel, destination, payload_bytes, priority, available_at FROM outbox FORCE INDEX (outbox_due)
         WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL
           AND priority = 2 AND available_at <= UTC_TIMESTAMP(6)
           AND (? OR available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND
                OR (available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND AND id > ?))
           AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
           AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                   name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
           AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                   name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
         ORDER BY available_at, id LIMIT ?)
        UNION ALL
        (SELECT id, channel, destination, payload_bytes, priority, available_at FROM outbox FORCE INDEX (outbox_due)
         WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL
           AND priority = 1 AND available_at <= UTC_TIMESTAMP(6)
           AND (? OR available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND
                OR (available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND AND id > ?))
           AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
           AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                   name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
           AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                   name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
         ORDER BY available_at, id LIMIT ?)
        UNION ALL
        (SELECT id, channel, destination, payload_bytes, priority, available_at FROM outbox FORCE INDEX (outbox_due)
         WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL
           AND priority = 0 AND available_at <= UTC_TIMESTAMP(6)
           AND (? OR available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND
                OR (available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND AND id > ?))
           AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
           AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                   name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
           AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                   name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
         ORDER BY available_at, id LIMIT ?)
        UNION ALL
        (SELECT o.id, o.channel, o.destination, o.payload_bytes, o.priority, o.available_at
         FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) head
         STRAIGHT_JOIN outbox o ON o.id = head.id AND o.status = 'PENDING'
         LEFT JOIN (SELECT DISTINCT x.channel, x.ordering_key
                    FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) e STRAIGHT_JOIN outbox x ON x.id = e.id
                    WHERE x.ordering_key IS NOT NULL) busy
                ON busy.channel = o.channel AND busy.ordering_key = o.ordering_key
         WHERE o.available_at <= UTC_TIMESTAMP(6) AND busy.channel IS NULL
           AND o.destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                   name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
           AND o.channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                   name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
           AND (o.channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                                      name varchar(64) CHARACTER SET utf8mb4 PATH '$.name',
                                      halt boolean PATH '$.halt')) c WHERE c.halt)
                OR COALESCE((SELECT d.id FROM outbox d FORCE INDEX (outbox_ordered)
                             WHERE d.status = 'DEAD' AND d.shard = o.shard AND d.ordering_key = o.ordering_key
                               AND d.channel = o.channel AND COALESCE(d.dead_reason, '') <> 'cancelled'
                             ORDER BY d.id LIMIT 1), o.id) >= o.id))
        ) branches ORDER BY priority DESC, available_at, id LIMIT ?) due
        LEFT JOIN JSON_TABLE(?, '$[*]' COLUMNS (
                      name varchar(64) CHARACTER SET utf8mb4 PATH '$.name', room int PATH '$.room',
                      most int PATH '$.most')) known
               ON known.name = due.channel
        LEFT JOIN JSON_TABLE(?, '$[*]' COLUMNS (
                      destination varchar(255) CHARACTER SET utf8mb4 PATH '$.destination', room int PATH '$.room')) limited
               ON limited.destination = due.destination
    ) met
    WHERE NOT met.claimed OR met.place_there <= met.room
) walked
STRAIGHT_JOIN outbox o ON o.id = walked.id
WHERE NOT walked.claimed OR walked.bytes_so_far <= ? OR (walked.place = 1 AND ?)
ORDER BY walked.place
