-- One that was found to be gone once more since it was chosen by its age stays.
DELETE gone FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_invalid_target gone FORCE INDEX (PRIMARY) ON gone.id = asked.id
WHERE ?2 IS NULL OR gone.observed_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?2 MICROSECOND
