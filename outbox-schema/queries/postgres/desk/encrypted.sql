SELECT 'cipher'::text, coalesce(cipher, '')::text FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid()
