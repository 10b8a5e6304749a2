-- What the asked wait for, which are locked: nothing, the end of a deferral, another attempt or the first.
SELECT id, available_at <= clock_timestamp() AS due, deferred_from IS NOT NULL AS deferred,
       first_attempt_at IS NOT NULL AS tried
FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
