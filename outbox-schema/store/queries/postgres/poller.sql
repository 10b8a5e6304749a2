-- name: all
-- Each commit waits for a standby, as long as the server's own setting has it wait, or longer.
SELECT set_config('synchronous_commit', CASE reset_val WHEN 'remote_apply' THEN reset_val ELSE 'on' END, false),
       set_config('outbox.durability', 'all', false)
FROM pg_settings WHERE name = 'synchronous_commit' 

-- name: begin_term
-- The epoch is above $3, and $4 names the server. Settings of this statement say so: a function cannot get more parameters while
-- older replicas call it.
SELECT outbox_begin_term(p_shard => $1, p_holder => $2)
FROM set_config('outbox.above', $3::text, true) above, set_config('outbox.served_by', $4, true) served_by

-- name: claimed_body
-- What a claimed row says.
SELECT payload::text, headers::text FROM outbox WHERE id = $1 AND revision = $2

-- name: clock
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now_us

-- name: close_gate
-- Claims are locked in the order of their ids, as marks lock them, but not by the index of all ids: a snapshot that is held open
-- keeps there what has gone.
WITH own AS (
    SELECT id FROM outbox_claim WHERE shard = $1 AND epoch = $2 AND holder = $3 AND gate_closed_at IS NULL
    ORDER BY id::text COLLATE "C" FOR UPDATE
)
UPDATE outbox_claim SET gate_closed_at = clock_timestamp() WHERE id = ANY (ARRAY(SELECT id FROM own))

-- name: defer
-- Move rows of unknown channels out of the way, which a look met. Their channels are returned.
SELECT deferred.channel
FROM outbox_defer_unknown(p_shard => $1, p_met => $2, p_excluded => '{}', p_channels => $3, p_unknown_ms => $4) deferred

-- name: destination_states
-- What a term must know of destinations: pauses that are on, breakers that are not closed, rows put aside, rates that rise. Goes on
-- in another file.
SELECT destination, pause_kind,
       CASE WHEN paused_until IS NOT NULL
            THEN (extract(epoch FROM least(paused_until, now() + interval '100 years') - now()) * 1000)::bigint END AS paused_ms,
       failures,
       (extract(epoch FROM aside_until - now()) * 1000)::bigint AS aside_ms,
       (extract(epoch FROM now() - ramp_from) * 1000)::bigint AS ramp_ms,
       (extract(epoch FROM now() - last_sent_at) * 1000)::bigint AS unused_ms
FROM outbox_destination
WHERE (paused_until > now() OR aside_until > now() OR (pause_kind = 'breaker' AND failures > 0)
       OR last_sent_at > now() - interval '10 minutes')

-- name: destinations_known
  -- Where there are more: channels, then what is paused, and of those what opens soonest.
ORDER BY strpos(destination, ':') > 0, (paused_until > now()) IS NOT TRUE, greatest(paused_until, aside_until), destination
LIMIT $1

-- name: destinations_met
  -- Of these.
  AND destination IN (SELECT json_array_elements_text($1::json))

-- name: due_count
-- How many rows of one priority are due behind a place: so many at most.
SELECT count(*) AS rows_due FROM (
    SELECT 1 AS one FROM outbox o
    WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
      AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
    LIMIT $5
) due

-- name: due_end
-- Of the due rows of one priority, behind a place: the last one of so many, which is where a step of a look ends. Nothing where there are
-- fewer.
SELECT o.id, o.available_at::text AS at FROM outbox o
WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
  AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
ORDER BY o.available_at, o.id LIMIT 1 OFFSET $5

-- name: end_term
-- What is repeated adds nothing.
UPDATE outbox_term_log
SET ended_at = CASE WHEN ended_because = 'lost' THEN ended_at ELSE clock_timestamp() END,
    in_doubt = coalesce(in_doubt, 0) + CASE WHEN coalesce(ended_because, 'lost') = 'lost' THEN $8 ELSE 0 END,
    ended_because = $4, claimed = $5, delivered = $6, failed = $7
WHERE shard = $1 AND epoch = $2 AND holder = $3

-- name: lineage
-- A promotion writes on a new timeline at once; the control file says so later. Aurora's servers share their storage.
SELECT pg_is_in_recovery() AS recovers, current_setting('transaction_read_only')::boolean AS reads_only,
       (SELECT system_identifier FROM pg_control_system())::text AS system,
       CASE WHEN NOT pg_is_in_recovery() AND to_regproc('aurora_version') IS NULL
            THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline

-- name: lineage_none
-- Where neither the control file nor the log can be asked.
SELECT pg_is_in_recovery() AS recovers, current_setting('transaction_read_only')::boolean AS reads_only, NULL::text AS system,
       NULL::text AS timeline

-- name: lineage_without_system
-- For a role that may not read the control file.
SELECT pg_is_in_recovery() AS recovers, current_setting('transaction_read_only')::boolean AS reads_only, NULL::text AS system,
       CASE WHEN NOT pg_is_in_recovery() AND to_regproc('aurora_version') IS NULL
            THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline

-- name: mark
SELECT message_id, is_held FROM outbox_mark_free(p_marks => $1::json, p_claims => $2, p_finished => $3)

-- name: mark_delivered
SELECT outbox_mark_delivered(
    p_claims => $1, p_finished => $2, p_claim => $3, p_ids => $4, p_revisions => $5, p_started_ms => $6, p_status_codes => $7,
    p_receipts => $8
)

-- name: outcomes
-- The messages that tell of outcomes, in the transaction that writes these. A repeated mark finds the key, and adds nothing. Only a
-- row with a revision may have such a key, and no application writes one. No outcome is told of an outcome, whatever the settings of
-- another replica say.
INSERT INTO outbox (idempotency_key, channel, target, payload, tenant, shard, revision)
SELECT format('outcome:%s:%s:%s', meta.outbox_id, o.id, o.revision), told.channel, told.target,
       jsonb_build_object(
           'id', o.id, 'idempotency_key', o.idempotency_key, 'channel', o.channel, 'destination', o.destination,
           'status', o.status, 'reason', o.dead_reason, 'error', told.error, 'status_code', o.last_status_code,
           'attempts', o.attempts,
           'at', to_char(o.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'tenant', o.tenant, 'tags', o.tags, 'replay_of', o.replay_of),
       o.tenant, o.shard, 1
FROM json_to_recordset($1::json) AS told(
    id bigint, revision integer, status text, dead_reason text, error text, channel text, target text)
JOIN outbox o ON o.id = told.id AND o.revision = told.revision AND o.status = told.status
             AND o.dead_reason IS NOT DISTINCT FROM told.dead_reason
CROSS JOIN outbox_meta meta
WHERE o.idempotency_key NOT LIKE 'outcome:________-____-____-____-____________:%'
ORDER BY o.id
ON CONFLICT (idempotency_key) DO NOTHING

-- name: outcomes_settled
-- Rows in doubt that were settled, and are dead.
SELECT o.id, o.revision, o.channel, o.dead_reason
FROM json_array_elements_text($1::json) AS settled(id) JOIN outbox o ON o.id = settled.id::bigint
WHERE o.status = 'DEAD'

-- name: outcomes_texts
-- What rows that ended say of themselves in the targets of their outcomes.
SELECT o.id, o.idempotency_key, o.channel, o.tenant
FROM json_array_elements_text($1::json) AS ended(id) JOIN outbox o ON o.id = ended.id::bigint

-- name: release_bar
-- Claim nothing under an id, so that nothing else can be claimed under it: the statement of a claim that was given up may be under
-- way. Whoever settles finds nothing left to decide, and removes it.
INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms)
SELECT $1::uuid, t.shard, t.epoch, t.holder, '{}', '{}', clock_timestamp(), 0, 0
FROM outbox_term t WHERE t.shard = $2 FOR SHARE
ON CONFLICT (id) DO NOTHING

-- name: release_made
-- Release the rows of a claim that was made and given up: nothing of it was sent.
DELETE FROM outbox_claim WHERE id = $1::uuid AND cardinality(message_ids) > 0

-- name: replicated
-- A commit waits for this server's disk only. What waits for a standby too is told so: see `waits`.
SELECT set_config('synchronous_commit', 'local', false), set_config('outbox.durability', 'replicated', false)

-- name: require_term
-- Lock the term row, and prove epoch and holder.
SELECT outbox_require_term(p_shard => $1, p_epoch => $2, p_holder => $3)

-- name: settle
SELECT message_id, destination, crashed, resend FROM outbox_settle(
    p_shard => $1, p_epoch => $2, p_holder => $3, p_channels => $4, p_resend => $5, p_max_attempts => $6
)

-- name: settled
-- Of these rows, those that were settled, where no later attempt is on record.
SELECT o.id AS message_id, o.destination, a.error = $2 AS crashed, o.status = 'PENDING' AS resend
FROM json_array_elements_text($1::json) AS asked(id)
JOIN outbox o ON o.id = asked.id::bigint AND o.status IN ('PENDING', 'DEAD')
JOIN outbox_attempt a ON a.message_id = o.id AND a.outcome = 'in_doubt' AND a.error IN ($2, $3)
WHERE NOT EXISTS (SELECT 1 FROM outbox_attempt later WHERE later.message_id = o.id AND later.id > a.id)
ORDER BY o.id

-- name: term_lock_shared
SELECT epoch, holder FROM outbox_term WHERE shard = $1::bigint FOR SHARE

-- name: trial
-- A message of nobody's channel, on a shard that nobody polls. Its id is none that the table gives: those are not used up.
INSERT INTO outbox (id, channel, target, ordering_key, payload, shard)
VALUES (-1 - floor(random() * 1e15)::bigint, 'outbox-trial', $1, $2, '{}', $3)

-- name: unmarked
-- Deliveries that could not be marked, each once. It asks for no right to `outbox` itself: that may be what is missing.
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, duration_ms, outcome, error)
SELECT m.id, m.number, m.epoch, m.holder, c.claimed_at, clock_timestamp() - m.started_ms * interval '1 ms', m.duration_ms,
       'delivered_unmarked', m.error
FROM jsonb_to_recordset($1::jsonb) AS m (claim uuid, id bigint, number integer, epoch bigint, holder varchar(255),
                                         started_ms bigint, duration_ms bigint, error text)
LEFT JOIN outbox_claim c ON c.id = m.claim
WHERE NOT EXISTS (
    SELECT FROM outbox_attempt a WHERE a.message_id = m.id AND a.epoch = m.epoch
    AND a.holder = m.holder AND a.number = m.number AND a.outcome = 'delivered_unmarked')

-- name: unsettled
-- Rows that may still be in flight under claims of earlier terms. A row that its poller has marked since is not among them.
SELECT o.id,
       (extract(epoch FROM c.superseded_at - clock_timestamp()) * 1000)::bigint
       + CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END AS settles_in_ms
FROM outbox_term t
-- By the index of claims, however few of them PostgreSQL takes the table to have.
CROSS JOIN LATERAL (
    SELECT * FROM outbox_claim c
    WHERE c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch AND c.superseded_at IS NOT NULL OFFSET 0) c
CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
WHERE t.shard = $1

-- name: waiting_for_standby
-- The commits of replicas that wait for a standby, each by its session and its beginning. Or that none can, where they should.
SELECT CASE WHEN current_setting('synchronous_standby_names') = '' AND to_regproc('aurora_version') IS NULL
                 AND current_setting('outbox.durability', true) IN ('replicated', 'all') THEN '{none}'
       ELSE (SELECT coalesce(array_agg(pid || ' ' || query_start), '{}') FROM pg_stat_activity
             WHERE usename = current_user AND datname = current_database() AND application_name = 'outbox'
               AND wait_event = 'SyncRep' AND query_start < clock_timestamp() - interval '2 s') END

-- name: waits
-- What the connection for terms and claims is told once: its commits wait for a standby, where the durability asks for that.
SELECT set_config('synchronous_commit', CASE reset_val WHEN 'remote_apply' THEN reset_val ELSE 'on' END, false)
FROM pg_settings WHERE name = 'synchronous_commit' AND current_setting('outbox.durability', true) IN ('replicated', 'all')

-- name: wakeup_channel
-- What outbox_wakeup notifies.
SELECT 'outbox_' || 'outbox'::regclass::oid

-- name: want_no_wakeups
-- This session has no other advisory locks; it may have this one more than once.
SELECT pg_advisory_unlock_all()

-- name: want_wakeups
-- Whoever inserts cannot have this lock exclusively from now on, and notifies: see outbox_wakeup. Where somebody else holds it, they
-- notify all the same.
SELECT pg_try_advisory_lock_shared(-('outbox'::regclass::oid::bigint << 16))
