-- Those of the asked that are there, locked, so that nobody decides about them meanwhile. What a transaction of somebody else
-- holds is left out: claims wait for whoever waits here.
SELECT id, status FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) ORDER BY id
FOR UPDATE SKIP LOCKED
