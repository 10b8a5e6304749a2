-- What waits, as long as that is little: it lies together in an index of the poll.
SELECT id FROM outbox FORCE INDEX (outbox_due) WHERE status = 'PENDING' LIMIT ?
