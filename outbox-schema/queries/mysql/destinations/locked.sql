-- Of these rows, those that still wait, locked, and how they stand now. What is being cancelled must not keep it waiting. MariaDB
-- and MySQL each have their own words for it.
SELECT o.id, o.destination, o.channel, o.ordering_key IS NULL AND o.available_at <= UTC_TIMESTAMP(6) AS due,
       o.deferred_from IS NOT NULL AS deferred
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status = 'PENDING'
/*M! FOR UPDATE */ /*!80000 FOR UPDATE OF o */ SKIP LOCKED
