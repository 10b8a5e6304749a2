-- This session has no other advisory locks; it may have this one more than once.
SELECT pg_advisory_unlock_all()
