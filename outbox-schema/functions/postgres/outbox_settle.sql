-- Decide the rows that earlier terms left in doubt, once the settling time of their claim is over. A row that the database itself
-- refuses, as by a trigger that the application added, or that somebody has locked, keeps its claim, and no other row waits for it.
CREATE OR REPLACE FUNCTION outbox_settle(
    p_shard smallint, p_epoch bigint, p_holder varchar,
    p_channels varchar[], p_resend boolean[], p_max_attempts integer[]
) RETURNS TABLE (message_id bigint, destination varchar, crashed boolean, resend boolean)
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
DECLARE
    settled uuid[];
    doubt record;
    epochs bigint[];
BEGIN
    PERFORM outbox_fresh_plans();
    PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
    SELECT array_agg(locked.id) INTO settled
    FROM (
        SELECT c.id FROM outbox_claim c
        WHERE c.shard = p_shard AND c.superseded_at IS NOT NULL AND c.epoch < p_epoch
          AND c.epoch >= (SELECT t.unsettled_from FROM outbox_term t WHERE t.shard = p_shard)
          AND (c.superseded_at + interval '1 ms'
               * CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END
               <= clock_timestamp()
               -- Nothing of it is left to decide: it need not wait. (Revisions only rise, so this stays true.)
               OR NOT EXISTS (
                   SELECT FROM unnest(c.message_ids, c.revisions) AS sent(id, revision)
                   JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'))
        -- As by id, but not by the index of all ids.
        ORDER BY c.id::text COLLATE "C" FOR UPDATE
    ) locked;

    FOR doubt IN
        SELECT o.id, o.revision, least(o.attempts + 1, 32767) AS number, c.id AS claim, c.epoch, c.holder, c.claimed_at,
               c.gate_closed_at IS NULL AS crashed,
               -- Only where both its claimer and this poller would; one of them may not know the channel.
               coalesce(policy.resend, true) AND o.channel <> ALL (c.at_most_once) AS resend,
               coalesce(o.attempts + 1 >= coalesce(o.max_attempts, policy.max_attempts), false) AS used_up
        FROM outbox_claim c
        CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
        JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
        LEFT JOIN unnest(p_channels, p_resend, p_max_attempts) AS policy(name, resend, max_attempts)
               ON policy.name = o.channel
        WHERE c.id = ANY (settled) ORDER BY o.id
    LOOP
        BEGIN
            -- Nobody waits for a row that somebody else has locked.
            PERFORM FROM outbox o WHERE o.id = doubt.id FOR NO KEY UPDATE NOWAIT;
            UPDATE outbox o
            SET status = CASE WHEN doubt.resend AND NOT doubt.used_up THEN 'PENDING' ELSE 'DEAD' END,
                dead_reason = CASE WHEN NOT doubt.resend THEN 'in_doubt' WHEN doubt.used_up THEN 'exhausted' END,
                revision = o.revision + 1,
                attempts = doubt.number,
                available_at = clock_timestamp(),
                first_attempt_at = coalesce(o.first_attempt_at, doubt.claimed_at),
                finished_at = CASE WHEN doubt.resend AND NOT doubt.used_up THEN NULL ELSE clock_timestamp() END,
                last_error = format('in doubt: claimed by %s in epoch %s and never marked', doubt.holder, doubt.epoch),
                -- That of the error without holder and epoch: as steps.rs has it, which a test compares.
                error_hash = CASE WHEN doubt.resend AND NOT doubt.used_up THEN NULL ELSE 'baef44bcae61' END
            WHERE o.id = doubt.id AND o.revision = doubt.revision AND o.status = 'PENDING'
            RETURNING o.id, o.destination, doubt.crashed, o.status = 'PENDING'
            INTO message_id, destination, crashed, resend;
            CONTINUE WHEN NOT FOUND;
            INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, outcome, error)
            VALUES (doubt.id, doubt.number, doubt.epoch, doubt.holder, doubt.claimed_at, 'in_doubt',
                    'claimed and never marked: its poller '
                    || CASE WHEN doubt.crashed THEN 'died or was cut off' ELSE 'ended before it could mark it' END);
            epochs := epochs || doubt.epoch;
            RETURN NEXT;
        EXCEPTION
            -- As errors.rs has it: what is about the row, and what a trigger raises. And a row that is locked.
            WHEN lock_not_available OR plpgsql_error OR integrity_constraint_violation OR data_exception OR with_check_option_violation
                 OR program_limit_exceeded OR triggered_action_exception THEN
                RAISE WARNING 'message % cannot be settled: %', doubt.id, SQLERRM;
                settled := array_remove(settled, doubt.claim);
        END;
    END LOOP;

    UPDATE outbox_term_log l SET in_doubt = coalesce(l.in_doubt, 0) + their.messages
    FROM (SELECT epoch, count(*) AS messages FROM unnest(epochs) AS epoch GROUP BY epoch) their
    WHERE l.shard = p_shard AND l.epoch = their.epoch;

    DELETE FROM outbox_claim WHERE id = ANY (settled);
END
$$;
