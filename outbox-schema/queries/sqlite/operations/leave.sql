-- Its carrier leaves it to the poller.
UPDATE outbox_operation SET carrier = NULL, carried_until = NULL WHERE id = ?1 AND carrier = ?2 AND status = 'open'
