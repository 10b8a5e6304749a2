INSERT INTO outbox_replica (id, name, version, schema_version) VALUES ($1, $2, $3, $4::bigint::integer)
ON CONFLICT (id) DO UPDATE SET seen_at = now()
