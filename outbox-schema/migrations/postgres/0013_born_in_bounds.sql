-- What a row is born with is bounded on each database. PostgreSQL's columns have bounded it all along.
UPDATE outbox_meta SET schema_version = 13, serves_from = 2;
