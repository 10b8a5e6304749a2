INSERT INTO outbox_replica (id, name, version, schema_version, address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble)
VALUES ($1, $2, $3, $4::bigint::integer, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (id) DO UPDATE SET
    seen_at = now(), address = excluded.address, lease_store = excluded.lease_store, settings_hash = excluded.settings_hash,
    runs_by = excluded.runs_by, counted_ms = excluded.counted_ms, delivered = excluded.delivered, failed = excluded.failed,
    trouble = excluded.trouble
