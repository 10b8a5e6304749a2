-- What each replica and each term runs by, so that whoever looks at the outbox can tell without the settings of the fleet.

-- Rows of replicas of the release before have NULL in these. Where the replica listens (admin.listen).
ALTER TABLE outbox_replica ADD address TEXT;
-- The lease store, without secrets.
ALTER TABLE outbox_replica ADD lease_store TEXT;
-- Of the settings that all replicas must share.
ALTER TABLE outbox_replica ADD settings_hash TEXT;
-- JSON: times of the lease, channels, and the shared settings.
ALTER TABLE outbox_replica ADD runs_by TEXT;
-- Attempts that ended in the last counted_ms milliseconds before seen_at.
ALTER TABLE outbox_replica ADD counted_ms INTEGER;
ALTER TABLE outbox_replica ADD delivered INTEGER;
ALTER TABLE outbox_replica ADD failed INTEGER;
-- What keeps the replica from its work.
ALTER TABLE outbox_replica ADD trouble TEXT;

-- NULL where the replica could not write it, or is of the release before.
ALTER TABLE outbox_term_log ADD instance TEXT;
ALTER TABLE outbox_term_log ADD version TEXT;
ALTER TABLE outbox_term_log ADD lease_store TEXT;
ALTER TABLE outbox_term_log ADD settings_hash TEXT;

UPDATE outbox_meta SET schema_version = 5, serves_from = 2;
