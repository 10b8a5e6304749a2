-- Whoever inserts cannot have this lock exclusively from now on, and notifies: see outbox_wakeup. Where somebody else holds it, they
-- notify all the same.
SELECT pg_try_advisory_lock_shared(-('outbox'::regclass::oid::bigint << 16))
