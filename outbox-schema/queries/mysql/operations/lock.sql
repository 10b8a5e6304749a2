-- Nobody else carries it out, or stops it, until this transaction ends.
SELECT status, carrier FROM outbox_operation WHERE id = ?1 FOR UPDATE
