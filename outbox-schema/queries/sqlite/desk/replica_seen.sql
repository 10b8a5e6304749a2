INSERT INTO outbox_replica (id, name, version, schema_version, started_at, seen_at)
VALUES (?1, ?2, ?3, ?4, CAST(round(unixepoch('subsec') * 1000) AS INTEGER), CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
