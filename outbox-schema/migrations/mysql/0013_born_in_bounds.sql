-- The key of a row that names none tells the time of that row.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- As in 0001, but for RAND(). MariaDB keeps what it takes for constant while the table is open, and took the time for that: each
-- later key had the time of an earlier one, or none at all.
ALTER TABLE outbox ALTER COLUMN idempotency_key SET DEFAULT (CONCAT(
    INSERT(LPAD(LOWER(HEX(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 + FLOOR(RAND()))),
                12, '0'), 9, 0, '-'),
    '-7',
    INSERT(INSERT(LEFT(SHA2(CONCAT(UUID(), RAND()), 256), 18), 7, 0, '-'), 4, 0, '-8')));

UPDATE outbox_meta SET schema_version = 13, serves_from = 2;
