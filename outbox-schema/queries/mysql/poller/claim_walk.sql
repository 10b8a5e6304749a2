-- Due rows, highest priority and longest due first, those of unknown channels too. Closed destinations and channels are passed
-- over. What there is room for is counted by the caller (fitting.rs): each window here took a twentieth of a claim's time.
--
-- A branch for each priority, each ended by its LIMIT: sorting by priority would read the backlog. The indexes are
-- forced because an optimizer that misjudges them scans the history. What is excluded is a NOT IN, a filter: a join
-- could be put first and the order of the index be lost. With the collation of the column, MariaDB hashes the names once;
-- else it would read them again for each row. Each branch begins behind the row that it is given, if any: see
-- WalkStart. No start is younger than a second, because transactions that began a moment ago may be committing still. Without
-- one there is no bound, for 0000-00-00 comes before every moment. Neither it nor 2026-00-00 is one: TIMESTAMPDIFF says NULL.
--
-- The heads of ordering keys are given: see claim_heads.sql. A key with a row in flight has its turn: a redriven row of it
-- that goes before waits for that one.
--
-- No body and no other text is carried along: MariaDB gathers a UNION in a table, which with them is one on disk.
SELECT id, revision, channel, destination, bytes, priority, ordered,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', LEAST(available_at, UTC_TIMESTAMP(6) - INTERVAL 1 SECOND)) AS start_us
FROM (
    (SELECT id, revision, channel, destination, priority, available_at, FALSE AS ordered,
            payload_bytes + OCTET_LENGTH(target) + COALESCE(OCTET_LENGTH(headers), 0) AS bytes
     FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL
       AND priority = 3 AND available_at <= UTC_TIMESTAMP(6)
       AND (? OR available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND
            OR (available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND AND id > ?))
       AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
       AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
       AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
     ORDER BY available_at, id LIMIT ?)
    UNION ALL
    (SELECT id, revision, channel, destination, priority, available_at, FALSE AS ordered,
            payload_bytes + OCTET_LENGTH(target) + COALESCE(OCTET_LENGTH(headers), 0) AS bytes
     FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL
       AND priority = 2 AND available_at <= UTC_TIMESTAMP(6)
       AND (? OR available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND
            OR (available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND AND id > ?))
       AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
       AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
       AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
     ORDER BY available_at, id LIMIT ?)
    UNION ALL
    (SELECT id, revision, channel, destination, priority, available_at, FALSE AS ordered,
            payload_bytes + OCTET_LENGTH(target) + COALESCE(OCTET_LENGTH(headers), 0) AS bytes
     FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL
       AND priority = 1 AND available_at <= UTC_TIMESTAMP(6)
       AND (? OR available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND
            OR (available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND AND id > ?))
       AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
       AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
       AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
     ORDER BY available_at, id LIMIT ?)
    UNION ALL
    (SELECT id, revision, channel, destination, priority, available_at, FALSE AS ordered,
            payload_bytes + OCTET_LENGTH(target) + COALESCE(OCTET_LENGTH(headers), 0) AS bytes
     FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL
       AND priority = 0 AND available_at <= UTC_TIMESTAMP(6)
       AND (? OR available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND
            OR (available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND AND id > ?))
       AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
       AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
       AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
     ORDER BY available_at, id LIMIT ?)
    UNION ALL
    (SELECT o.id, o.revision, o.channel, o.destination, o.priority, o.available_at, TRUE,
            o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0)
     FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) head
     STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = head.id AND o.status = 'PENDING'
     LEFT JOIN (SELECT DISTINCT x.channel, x.ordering_key
                FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) e
                STRAIGHT_JOIN outbox x FORCE INDEX (PRIMARY) ON x.id = e.id
                WHERE x.ordering_key IS NOT NULL) busy
            ON busy.channel = o.channel AND busy.ordering_key = o.ordering_key
     WHERE o.available_at <= UTC_TIMESTAMP(6) AND busy.channel IS NULL
       AND o.destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
       AND o.channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
       AND (o.channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                                  name varchar(64) CHARACTER SET utf8mb4 PATH '$.name',
                                  halt boolean PATH '$.halt')) c WHERE c.halt)
            OR COALESCE((SELECT d.id FROM outbox d FORCE INDEX (outbox_ordered)
                         WHERE d.status = 'DEAD' AND d.shard = o.shard AND d.ordering_key = o.ordering_key
                           AND d.channel = o.channel AND COALESCE(d.dead_reason, '') <> 'cancelled'
                         ORDER BY d.id LIMIT 1), o.id) >= o.id))
) branches
ORDER BY priority DESC, available_at, id LIMIT ?
