-- Cancel a message by its key, in the transaction of the caller: for applications that are granted it. True says that the
-- message is never sent if that transaction commits. False says that it is not there, has an outcome, or that somebody has
-- it in hand: it is claimed, or being claimed, marked or cancelled.
--
-- A claim and a cancellation must each know of the other before either has committed. So a cancellation holds the shard's
-- advisory lock (outbox_cancelling) shared and the row's lock, until its transaction ends; a claim that cannot have the former
-- exclusively passes over rows that are locked. Neither waits for the other but a cancellation for the one claim that is being
-- made. What is refused leaves no lock behind: the mark of a message in flight would wait for it, and all other marks with it.
--
-- It acts with the rights of the tables' owner. So it finds nothing by a search_path but what PostgreSQL itself brings, and names
-- the rest by its schema: an operator for two varchars that somebody makes there would be the better match.
DO $migration$
BEGIN
    EXECUTE format(
        $function$
        CREATE OR REPLACE FUNCTION outbox_cancel(p_key varchar, p_why text DEFAULT NULL) RETURNS boolean
        LANGUAGE plpgsql VOLATILE SECURITY DEFINER
        SET lock_timeout = '2s' SET search_path = pg_catalog, pg_temp
        AS $body$
        DECLARE
            message record;
        BEGIN
            IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
                RAISE EXCEPTION USING ERRCODE = 'OB002',
                    MESSAGE = format('message %%s is not cancelled: outbox_cancel must see the claims of this moment', p_key),
                    HINT = 'Call it in a transaction that is READ COMMITTED.';
            END IF;
            PERFORM pg_advisory_xact_lock_shared((%2$L::regclass::oid::bigint << 16) + o.shard)
            FROM %1$I.outbox o WHERE o.idempotency_key = p_key;
            SELECT o.id, o.revision, o.channel, o.shard INTO message FROM %1$I.outbox o
            WHERE o.idempotency_key = p_key AND o.status = 'PENDING' FOR UPDATE SKIP LOCKED;
            IF NOT FOUND OR EXISTS (
                SELECT FROM %1$I.outbox_claim c CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
                WHERE c.shard = message.shard
                  AND c.epoch >= (SELECT t.unsettled_from FROM %1$I.outbox_term t WHERE t.shard = message.shard)
                  AND sent.id = message.id AND sent.revision = message.revision)
            THEN
                RAISE EXCEPTION USING ERRCODE = 'OB003';
            END IF;

            INSERT INTO %1$I.outbox_audit (who, action, why, message_id, details)
            VALUES (left(session_user, 255), 'cancel', nullif(left(p_why, 4096), ''), message.id,
                    jsonb_build_object('idempotency_key', p_key, 'channel', message.channel, 'revision', message.revision));
            UPDATE %1$I.outbox o
            SET status = 'DEAD', dead_reason = 'cancelled', revision = o.revision + 1, finished_at = clock_timestamp(),
                error_hash = NULL, deferred_from = NULL
            WHERE o.id = message.id;
            RETURN true;
        EXCEPTION WHEN SQLSTATE 'OB003' THEN
            RETURN false;
        END
        $body$
        $function$, current_schema(), format('%I.outbox', current_schema()));
END
$migration$;
REVOKE EXECUTE ON FUNCTION outbox_cancel FROM PUBLIC;
