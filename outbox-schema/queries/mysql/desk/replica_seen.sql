INSERT INTO outbox_replica (id, name, version, schema_version, started_at, seen_at)
VALUES (?1, ?2, ?3, ?4, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE seen_at = UTC_TIMESTAMP(6)
