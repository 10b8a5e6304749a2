SELECT id, name, version, schema_version, DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       TIMESTAMPDIFF(MICROSECOND, seen_at, UTC_TIMESTAMP(6)) DIV 1000 AS seen_ms,
       DATE_FORMAT(seen_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS seen_at,
       address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble
FROM outbox_replica r ORDER BY r.name, r.started_at, r.id LIMIT 1000
