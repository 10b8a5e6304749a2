-- What each replica and each term runs by, so that whoever looks at the outbox can tell without the settings of the fleet.

-- Rows of replicas of the release before have NULL in these.
ALTER TABLE outbox_replica
    -- Where the replica listens (admin.listen).
    ADD address       varchar(255),
    -- The lease store, without secrets.
    ADD lease_store   varchar(255),
    -- Of the settings that all replicas must share.
    ADD settings_hash varchar(16),
    -- JSON: times of the lease, channels, and the shared settings.
    ADD runs_by       text,
    -- Attempts that ended in the last counted_ms milliseconds before seen_at.
    ADD counted_ms    bigint,
    ADD delivered     bigint,
    ADD failed        bigint,
    -- What keeps the replica from its work.
    ADD trouble       varchar(1000);

-- NULL where the replica could not write it, or is of the release before.
ALTER TABLE outbox_term_log
    ADD instance      varchar(255),
    ADD version       varchar(32),
    ADD lease_store   varchar(255),
    ADD settings_hash varchar(16);

UPDATE outbox_meta SET schema_version = 5, serves_from = 2;
