-- Of these rows, those that still wait, locked, and how they stand now. What is being cancelled must not keep it waiting.
SELECT o.id, o.destination::text AS destination, o.channel::text AS channel,
       o.ordering_key IS NULL AND o.available_at <= now() AS due, o.deferred_from IS NOT NULL AS deferred
FROM outbox o
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND o.status = 'PENDING'
FOR NO KEY UPDATE SKIP LOCKED
