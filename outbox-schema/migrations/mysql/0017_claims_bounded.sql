-- Claims are found by their term. A snapshot that is held open keeps what is left of each claim that has gone since, and no term
-- may begin by walking over all of that.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.
SET @outbox_claims = IF(
    (SELECT COUNT(*) FROM information_schema.statistics
     WHERE table_schema = DATABASE() AND table_name = 'outbox_claim' AND index_name = 'outbox_claim_of_term') > 0,
    'DO 0',
    'ALTER TABLE outbox_claim ADD INDEX outbox_claim_of_term (shard, epoch)');
PREPARE outbox_claims FROM @outbox_claims;
EXECUTE outbox_claims;
DEALLOCATE PREPARE outbox_claims;

-- No claim of an earlier epoch is left. Only the begin of a term moves it, under its lock of the row.
SET @outbox_claims = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox_term' AND column_name = 'unsettled_from') > 0,
    'DO 0',
    'ALTER TABLE outbox_term ADD unsettled_from bigint NOT NULL DEFAULT 0');
PREPARE outbox_claims FROM @outbox_claims;
EXECUTE outbox_claims;
DEALLOCATE PREPARE outbox_claims;
SET @outbox_claims = NULL;

UPDATE outbox_meta SET schema_version = 17, serves_from = 2;
