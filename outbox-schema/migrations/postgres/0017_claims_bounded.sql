-- Claims are found by their term. A snapshot that is held open keeps what is left of each claim that has gone since, and no term
-- may begin by walking over all of that.
CREATE INDEX outbox_claim_of_term ON outbox_claim (shard, epoch);
-- Those few that wait for their settling time, however long one of them does.
CREATE INDEX outbox_claim_superseded ON outbox_claim (shard, epoch) WHERE superseded_at IS NOT NULL;

-- No claim of an earlier epoch is left. Only the begin of a term moves it, under its lock of the row.
ALTER TABLE outbox_term ADD unsettled_from bigint NOT NULL DEFAULT 0;

UPDATE outbox_meta SET schema_version = 17, serves_from = 2;
