-- name: confirm_environment
UPDATE outbox_meta SET environment = ?1, outbox_id = ?2

-- name: meta
SELECT schema_version, outbox_id, environment FROM outbox_meta

-- name: serves
SELECT serves_from, functions_version FROM outbox_meta

-- name: tables
SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'outbox') AS outbox,
       EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'outbox_meta') AS meta, 0 AS remains, 1 AS readable

-- name: who
-- SQLite has no roles.
SELECT '' AS role, '' AS place
