-- Claims are found by their term.
CREATE INDEX outbox_claim_of_term ON outbox_claim (shard, epoch);

-- No claim of an earlier epoch is left. Only the begin of a term moves it.
ALTER TABLE outbox_term ADD unsettled_from INTEGER NOT NULL DEFAULT 0;

UPDATE outbox_meta SET schema_version = 17, serves_from = 2;
