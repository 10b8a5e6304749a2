-- What the asked wait for, which are locked: nothing, the end of a deferral, another attempt or the first.
SELECT o.id, o.available_at <= UTC_TIMESTAMP(6) AS due, o.deferred_from IS NOT NULL AS deferred,
       o.first_attempt_at IS NOT NULL AS tried
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
