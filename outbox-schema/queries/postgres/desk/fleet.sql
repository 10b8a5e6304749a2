SELECT id, name, version, schema_version, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                to_json(started_at) #>> '{}') AS started_at,
       (extract(epoch FROM now() - seen_at) * 1000)::bigint AS seen_ms,
       coalesce(to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(seen_at) #>> '{}') AS seen_at,
       address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble
FROM outbox_replica ORDER BY name, started_at, id LIMIT 1000
