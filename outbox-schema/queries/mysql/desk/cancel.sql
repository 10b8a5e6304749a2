UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
SET o.status = 'DEAD', o.dead_reason = 'cancelled', o.revision = o.revision + 1, o.finished_at = UTC_TIMESTAMP(6),
    o.error_hash = NULL, o.deferred_from = NULL
