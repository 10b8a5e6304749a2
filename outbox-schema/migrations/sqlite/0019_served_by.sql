-- The server that minted the term, and its timeline: another one than before is a failover. NULL where the database has no such thing.
ALTER TABLE outbox_term_log ADD served_by TEXT;

UPDATE outbox_meta SET schema_version = 19, serves_from = 2;
