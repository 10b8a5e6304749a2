(SELECT o.id, o.revision, o.channel, o.destination, o.priority, FALSE AS ordered,
        o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) AS bytes,
        TIMESTAMPDIFF(MICROSECOND, '1970-01-01', LEAST(o.available_at, UTC_TIMESTAMP(6) - INTERVAL 1 SECOND)) AS start_us,
        COALESCE(o.tenant, o.destination) AS tenant, o.turn,
        COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', o.available_at), -9000000000000000000) AS age
 FROM outbox o FORCE INDEX (outbox_turns)
 WHERE o.shard = ? AND o.turn = ? AND o.priority = ? AND o.available_at <= UTC_TIMESTAMP(6)
   AND o.id NOT IN (SELECT id FROM excluded) AND o.destination NOT IN (SELECT name FROM closed)
 ORDER BY o.available_at, o.id LIMIT ?)
