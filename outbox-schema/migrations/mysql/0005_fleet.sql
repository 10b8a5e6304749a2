-- What each replica and each term runs by, so that whoever looks at the outbox can tell without the settings of the fleet.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- Rows of replicas of the release before have NULL in these. address: where the replica listens (admin.listen). lease_store:
-- without secrets. settings_hash: of the settings that all replicas must share. runs_by: JSON, with times of the lease, channels,
-- and the shared settings. counted_ms, delivered, failed: attempts that ended in the last counted_ms milliseconds before
-- seen_at. trouble: what keeps the replica from its work.
SET @outbox_fleet = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox_replica' AND column_name = 'runs_by') > 0,
    'DO 0',
    'ALTER TABLE outbox_replica
         ADD address varchar(255),
         ADD lease_store varchar(255),
         ADD settings_hash varchar(16),
         ADD runs_by mediumtext,
         ADD counted_ms bigint,
         ADD delivered bigint,
         ADD failed bigint,
         ADD trouble varchar(1000)');
PREPARE outbox_fleet FROM @outbox_fleet;
EXECUTE outbox_fleet;
DEALLOCATE PREPARE outbox_fleet;

-- NULL where the replica could not write it, or is of the release before.
SET @outbox_fleet = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox_term_log' AND column_name = 'instance') > 0,
    'DO 0',
    'ALTER TABLE outbox_term_log
         ADD instance varchar(255),
         ADD version varchar(32),
         ADD lease_store varchar(255),
         ADD settings_hash varchar(16)');
PREPARE outbox_fleet FROM @outbox_fleet;
EXECUTE outbox_fleet;
DEALLOCATE PREPARE outbox_fleet;
SET @outbox_fleet = NULL;

UPDATE outbox_meta SET schema_version = 5, serves_from = 2;
