SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'outbox') AS outbox,
       EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'outbox_meta') AS meta, 0 AS remains, 1 AS readable
