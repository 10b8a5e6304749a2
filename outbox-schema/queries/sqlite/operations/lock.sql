-- Nobody else carries it out, or stops it, until this transaction ends. BEGIN IMMEDIATE has locked it.
SELECT status, carrier FROM outbox_operation WHERE id = ?1
