-- A function of ours outlives tables that somebody dropped.
SELECT to_regclass('outbox') IS NOT NULL AS outbox, to_regclass('outbox_meta') IS NOT NULL AS meta,
       to_regproc('outbox_new_key') IS NOT NULL AS remains,
       coalesce(has_table_privilege(to_regclass('outbox_meta'), 'SELECT'), true) AS readable
