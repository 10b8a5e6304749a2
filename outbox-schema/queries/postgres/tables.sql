SELECT to_regclass('outbox') IS NOT NULL AS outbox, to_regclass('outbox_meta') IS NOT NULL AS meta
