-- What rows that ended say of themselves in the targets of their outcomes.
SELECT o.id, o.idempotency_key, o.channel, o.tenant
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) ended STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = ended.id
