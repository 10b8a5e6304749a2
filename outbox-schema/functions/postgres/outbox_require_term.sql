-- Share-lock the term row, then prove epoch and holder; SQLSTATE OB001 says that a later term exists. OB003: the caller's commits are
-- to wait for a standby (its setting `outbox.durability`), and would not.
CREATE OR REPLACE FUNCTION outbox_require_term(p_shard smallint, p_epoch bigint, p_holder varchar) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    term outbox_term%ROWTYPE;
BEGIN
    SELECT * INTO term FROM outbox_term WHERE shard = p_shard FOR SHARE;
    IF term.epoch IS DISTINCT FROM p_epoch OR term.holder IS DISTINCT FROM p_holder THEN
        RAISE EXCEPTION USING ERRCODE = 'OB001', MESSAGE = format(
            'epoch %s of shard %s is over: the present epoch is %s', p_epoch, p_shard, term.epoch);
    END IF;
    IF current_setting('outbox.durability', true) IN ('replicated', 'all')
       AND current_setting('synchronous_standby_names') = '' AND to_regproc('aurora_version') IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'OB003', MESSAGE =
            'claims wait for a standby that is not there: synchronous_standby_names is empty';
    END IF;
END
$$;
