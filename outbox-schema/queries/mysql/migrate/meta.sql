SELECT schema_version, outbox_id, environment FROM outbox_meta
