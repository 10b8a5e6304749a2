-- One migration at a time: the others wait here, then find the work done. Released with the transaction.
SET LOCAL lock_timeout = '2min';
SET LOCAL statement_timeout = '10min';
SELECT pg_advisory_xact_lock(hashtextextended('outbox migrate', 0));
-- Our connections' search_path is database.schema alone, quoted as an identifier, where that is set.
DO $$
BEGIN
    IF current_schema() IS NULL AND current_setting('search_path') !~ '[,$]' THEN
        EXECUTE 'CREATE SCHEMA IF NOT EXISTS ' || current_setting('search_path');
    END IF;
END
$$;
