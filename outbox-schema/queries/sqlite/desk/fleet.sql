SELECT id, name, version, schema_version,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - seen_at AS seen_ms,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', seen_at / 1000.0, 'unixepoch'), CAST(seen_at AS TEXT)) AS seen_at,
       address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble
FROM outbox_replica r ORDER BY r.name, r.started_at, r.id LIMIT 1000
