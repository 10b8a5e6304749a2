-- Due rows by their ids, with whose turn it is: see turns.rs.
SELECT o.id, o.revision, o.channel, o.destination, o.priority, FALSE AS ordered,
       o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) AS bytes,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', LEAST(o.available_at, UTC_TIMESTAMP(6) - INTERVAL 1 SECOND)) AS start_us,
       COALESCE(o.tenant, o.destination) AS tenant, o.turn,
       COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', o.available_at), -9000000000000000000) AS age
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) met
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = met.id AND o.status = 'PENDING' AND o.available_at <= UTC_TIMESTAMP(6)
WHERE o.destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
          name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
  AND o.channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
          name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
