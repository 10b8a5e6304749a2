-- A view and a procedure of ours outlive tables that somebody dropped.
SELECT EXISTS (SELECT 1 FROM information_schema.tables
               WHERE table_schema = DATABASE() AND table_name = 'outbox') AS outbox,
       EXISTS (SELECT 1 FROM information_schema.tables
               WHERE table_schema = DATABASE() AND table_name = 'outbox_meta') AS meta,
       EXISTS (SELECT 1 FROM information_schema.tables
               WHERE table_schema = DATABASE() AND table_name = 'outbox_new')
           OR EXISTS (SELECT 1 FROM information_schema.routines
                      WHERE routine_schema = DATABASE() AND routine_name = 'outbox_enqueue') AS remains,
       TRUE AS readable
