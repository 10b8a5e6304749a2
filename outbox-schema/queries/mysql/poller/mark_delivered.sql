-- As mark.sql does, of plain deliveries, those that may still be marked. What differs from row to row is looked up by the id,
-- which takes longer the more rows there are; most of it does not differ. One table, so that each row is changed as it is found:
-- an UPDATE of a join gathers what it is to assign in a table on disk first, and took a third longer. Sent as text, since there
-- are as many values as rows.
UPDATE outbox FORCE INDEX (PRIMARY)
SET status = 'SUCCESS',
    revision = revision + 1,
    attempts = attempts + 1,
    dead_reason = NULL,
    deferred_from = NULL,
    first_attempt_at = COALESCE(first_attempt_at, UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND),
    finished_at = UTC_TIMESTAMP(6),
    receipt = COALESCE(?, receipt),
    last_status_code = COALESCE(?, last_status_code),
    last_error = NULL,
    error_hash = NULL,
    mark_room = NULL
WHERE id IN (?) AND revision = ? AND status = 'PENDING' COLLATE utf8mb4_bin
