SELECT id, name, version, schema_version, DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       TIMESTAMPDIFF(MICROSECOND, seen_at, UTC_TIMESTAMP(6)) DIV 1000 AS seen_ms
FROM outbox_replica ORDER BY name, id
