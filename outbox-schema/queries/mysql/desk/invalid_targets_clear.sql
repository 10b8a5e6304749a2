-- One that was found to be gone once more since it was chosen by its age stays.
DELETE gone FROM outbox_invalid_target gone
JOIN JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked ON asked.id = gone.id
WHERE ?2 IS NULL OR gone.observed_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?2 MICROSECOND
