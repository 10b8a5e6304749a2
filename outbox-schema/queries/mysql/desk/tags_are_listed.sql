-- By the file mysql_tags.sql.
SELECT COUNT(*) > 0 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'outbox_tag'
