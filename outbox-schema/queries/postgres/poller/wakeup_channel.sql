-- What outbox_wakeup notifies.
SELECT 'outbox_' || 'outbox'::regclass::oid
