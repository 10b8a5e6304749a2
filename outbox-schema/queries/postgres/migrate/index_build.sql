-- How far the server is with an index on the outbox. Its own name is not seen here before the migration commits.
SELECT p.phase, p.blocks_done, p.blocks_total, p.tuples_done, p.tuples_total
FROM pg_stat_progress_create_index p
WHERE p.datname = current_database() AND p.relid = to_regclass('outbox')
