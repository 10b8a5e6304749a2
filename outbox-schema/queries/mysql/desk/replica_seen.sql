INSERT INTO outbox_replica
    (id, name, version, schema_version, address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble, started_at,
     seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE
    seen_at = VALUES(seen_at), address = VALUES(address), lease_store = VALUES(lease_store),
    settings_hash = VALUES(settings_hash), runs_by = VALUES(runs_by), counted_ms = VALUES(counted_ms),
    delivered = VALUES(delivered), failed = VALUES(failed), trouble = VALUES(trouble)
