-- How many messages of each term were left in doubt, beside what else it did.

-- NULL in terms of earlier releases. A term counts what its own sends left in doubt, and a later one adds what it settles.
ALTER TABLE outbox_term_log ADD in_doubt INTEGER;

UPDATE outbox_meta SET schema_version = 15, serves_from = 2;
