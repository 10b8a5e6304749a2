-- Whoever inserts cannot have this lock exclusively from now on, and notifies: see outbox_wakeup.
SELECT pg_advisory_lock_shared(-('outbox'::regclass::oid::bigint << 16))
