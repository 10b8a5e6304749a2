SELECT schema_version, outbox_id::text AS outbox_id, environment FROM outbox_meta
