-- As mark.sql does, of plain deliveries, those that may still be marked. What differs from row to row is given in the order of
-- the ids. One table, so that each row is changed as it is found: an UPDATE of a join gathers what it is to assign in a
-- table on disk first, and took a third longer. Sent as text, since there are as many values as rows.
UPDATE outbox
SET status = 'SUCCESS',
    revision = revision + 1,
    attempts = attempts + 1,
    dead_reason = NULL,
    deferred_from = NULL,
    first_attempt_at = COALESCE(first_attempt_at, UTC_TIMESTAMP(6) - INTERVAL ELT(FIELD(id, ?), ?) * 1000 MICROSECOND),
    finished_at = UTC_TIMESTAMP(6),
    receipt = COALESCE(ELT(FIELD(id, ?), ?), receipt),
    last_status_code = COALESCE(ELT(FIELD(id, ?), ?), last_status_code),
    last_error = NULL,
    error_hash = NULL,
    mark_room = NULL
WHERE id IN (?) AND revision = ELT(FIELD(id, ?), ?) AND status = 'PENDING' COLLATE utf8mb4_bin
