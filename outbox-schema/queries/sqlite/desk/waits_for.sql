-- What the asked wait for, which are locked: nothing, the end of a deferral, another attempt or the first.
SELECT id, available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS due, deferred_from IS NOT NULL AS deferred,
       first_attempt_at IS NOT NULL AS tried
FROM outbox WHERE id IN (SELECT value FROM json_each(?1))
