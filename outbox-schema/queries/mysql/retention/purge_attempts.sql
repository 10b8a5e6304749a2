DELETE a FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_attempt a FORCE INDEX (outbox_attempt_message) ON a.message_id = asked.id
