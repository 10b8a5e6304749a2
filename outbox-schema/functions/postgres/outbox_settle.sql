-- Decide the rows that earlier terms left in doubt, once the settling time of their claim is over.
CREATE OR REPLACE FUNCTION outbox_settle(
    p_shard smallint, p_epoch bigint, p_holder varchar,
    p_channels varchar[], p_resend boolean[], p_max_attempts integer[]
) RETURNS TABLE (message_id bigint, destination varchar, crashed boolean, resend boolean)
LANGUAGE plpgsql
AS $$
DECLARE
    settled uuid[];
BEGIN
    PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
    SELECT array_agg(locked.id) INTO settled
    FROM (
        SELECT c.id FROM outbox_claim c
        WHERE c.shard = p_shard AND c.superseded_at IS NOT NULL
          AND (c.superseded_at + interval '1 ms'
               * CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END
               <= clock_timestamp()
               -- Nothing of it is left to decide: it need not wait. (Revisions only rise, so this stays true.)
               OR NOT EXISTS (
                   SELECT FROM unnest(c.message_ids, c.revisions) AS sent(id, revision)
                   JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'))
        ORDER BY c.id FOR UPDATE
    ) locked;

    RETURN QUERY
    WITH doubt AS MATERIALIZED (
        SELECT o.id, least(o.attempts + 1, 32767) AS number, c.epoch, c.holder, c.claimed_at,
               c.gate_closed_at IS NULL AS crashed,
               -- Only where both its claimer and this poller would; one of them may not know the channel.
               coalesce(policy.resend, true) AND o.channel <> ALL (c.at_most_once) AS resend,
               coalesce(o.attempts + 1 >= coalesce(o.max_attempts, policy.max_attempts), false) AS used_up
        FROM outbox_claim c
        CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
        JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
        LEFT JOIN unnest(p_channels, p_resend, p_max_attempts) AS policy(name, resend, max_attempts)
               ON policy.name = o.channel
        WHERE c.id = ANY (settled)
    ), decided AS (
        UPDATE outbox o
        SET status = CASE WHEN d.resend AND NOT d.used_up THEN 'PENDING' ELSE 'DEAD' END,
            dead_reason = CASE WHEN NOT d.resend THEN 'in_doubt' WHEN d.used_up THEN 'exhausted' END,
            revision = o.revision + 1,
            attempts = d.number,
            available_at = clock_timestamp(),
            first_attempt_at = coalesce(o.first_attempt_at, d.claimed_at),
            finished_at = CASE WHEN d.resend AND NOT d.used_up THEN NULL ELSE clock_timestamp() END,
            last_error = format('in doubt: claimed by %s in epoch %s and never marked', d.holder, d.epoch),
            -- That of the error without holder and epoch: as steps.rs has it, which a test compares.
            error_hash = CASE WHEN d.resend AND NOT d.used_up THEN NULL ELSE 'baef44bcae61' END
        FROM doubt d WHERE o.id = d.id
        RETURNING o.id, o.destination, d.crashed, o.status = 'PENDING' AS due
    ), recorded AS (
        INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, outcome, error)
        SELECT d.id, d.number, d.epoch, d.holder, d.claimed_at, 'in_doubt',
               'claimed and never marked: its poller '
               || CASE WHEN d.crashed THEN 'died or was cut off' ELSE 'ended before it could mark it' END
        FROM doubt d ORDER BY d.id
    )
    SELECT decided.id, decided.destination, decided.crashed, decided.due FROM decided;

    DELETE FROM outbox_claim WHERE id = ANY (settled);
END
$$;
