-- name: claim_insert
INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms,
                          at_most_once)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, CAST(round(unixepoch('subsec') * 1000) AS INTEGER), ?7, ?8, ?9)

-- name: claim_lock
-- The term and whether this claim was made by an earlier try. Nobody else writes meanwhile.
SELECT t.epoch, t.holder, EXISTS (SELECT 1 FROM outbox_claim c WHERE c.id = ?1) AS made
FROM outbox_term t WHERE t.shard = ?2

-- name: claim_made
-- What a claim was made of.
SELECT message_ids, revisions FROM outbox_claim WHERE id = ?1

-- name: claim_undisturbed
-- Whoever claims has locked the file: no cancellation is open.
SELECT shard FROM outbox_term WHERE shard = ?1

-- name: claimed
-- The rows of a claim that may still be sent under it, given as pairs of id and revision, each with its place in the claim. Not
-- sorted by that, which would hold all bodies in memory once more. What is too large for its channel is not read, and no body
-- where ?3 is false.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER)),
channel(name, most) AS MATERIALIZED (SELECT value ->> 'name', value ->> 'max_message_bytes' FROM json_each(?2)),
size(place, id, bytes, too_large) AS MATERIALIZED (
    SELECT sent.key, o.id, o.payload_bytes + length(CAST(o.target AS BLOB)) + coalesce(length(CAST(o.headers AS BLOB)), 0),
           coalesce(o.payload_bytes + length(CAST(o.target AS BLOB)) + coalesce(length(CAST(o.headers AS BLOB)), 0)
                    > (SELECT most FROM channel WHERE channel.name = o.channel), FALSE)
    FROM json_each(?1) sent
    CROSS JOIN outbox o ON o.id = sent.value ->> 0 AND o.revision = sent.value ->> 1 AND o.status = 'PENDING'
)
SELECT size.place, o.id, o.revision, coalesce(o.sent_key, o.idempotency_key) AS idempotency_key, o.channel, o.target, o.destination, size.bytes, size.too_large,
       CASE WHEN size.too_large OR NOT ?3 THEN '' ELSE o.payload END AS payload,
       CASE WHEN size.too_large OR NOT ?3 THEN NULL ELSE o.headers END AS headers,
       o.attempts, o.max_attempts,
       CAST(o.expires_at - now.ms AS INTEGER) AS expires_in_ms,
       CAST(now.ms - o.first_attempt_at AS INTEGER) AS retrying_for_ms,
       CAST(now.ms - o.created_at AS INTEGER) AS waited_ms,
       CAST(o.created_at AS INTEGER) AS created_ms,
       o.deadline_ms, o.ordering_key, o.tenant, o.traceparent, o.tracestate,
       EXISTS (SELECT 1 FROM outbox_invalid_target gone
               WHERE gone.channel = o.channel AND gone.target = o.target) AS target_is_gone
FROM size CROSS JOIN outbox o ON o.id = size.id CROSS JOIN now

-- name: claimed_body
-- What a claimed row says.
SELECT payload, headers FROM outbox WHERE id = ?1 AND revision = ?2

-- name: claims_delete
DELETE FROM outbox_claim WHERE id IN (SELECT value FROM json_each(?1))

-- name: claims_lock
SELECT id FROM outbox_claim WHERE id IN (SELECT value FROM json_each(?1))

-- name: clock
SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_us

-- name: close_gate
UPDATE outbox_claim SET gate_closed_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE id IN (SELECT value FROM json_each(?1))

-- name: defer
UPDATE outbox
SET deferred_from = coalesce(deferred_from, available_at),
    available_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?2
WHERE id IN (SELECT value FROM json_each(?1)) AND status = 'PENDING'

-- name: defer_behind
-- Having met one row of an unknown channel, find those among the next 2,500 of each priority: they would only be met next. That is a
-- bound: where they are few, one look after the other would read the backlog for them.
SELECT id, channel FROM (
    SELECT * FROM (
        SELECT id, channel FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 3
          AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT id, channel FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 2
          AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT id, channel FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 1
          AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT id, channel FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 0
          AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
        ORDER BY available_at, id LIMIT 2500)
)
WHERE channel NOT IN (SELECT value ->> 'name' FROM json_each(?2))

-- name: destination_states
-- What a term must know of destinations: pauses that are on, breakers that are not closed, rows put aside, rates that rise. Goes on
-- in another file.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT destination, pause_kind, paused_until - now.ms AS paused_ms, failures, aside_until - now.ms AS aside_ms,
       now.ms - ramp_from AS ramp_ms, now.ms - last_sent_at AS unused_ms
FROM outbox_destination CROSS JOIN now
WHERE (paused_until > now.ms OR aside_until > now.ms OR (pause_kind = 'breaker' AND failures > 0)
       OR last_sent_at > now.ms - 600000)

-- name: destinations_known
  -- Where there are more: channels, then what is paused, and of those what opens soonest.
ORDER BY instr(destination, ':') > 0, (paused_until > now.ms) IS NOT TRUE, max(coalesce(paused_until, 0), coalesce(aside_until, 0)),
         destination
LIMIT ?1

-- name: destinations_met
  -- Of these.
  AND destination IN (SELECT value FROM json_each(?1))

-- name: due_count
-- How many rows of one priority are due behind a place: so many at most.
SELECT count(*) AS rows_due FROM (
    SELECT 1 AS one FROM outbox INDEXED BY outbox_due
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = ?2
      AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
      AND (available_at, id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
    LIMIT ?5
) due

-- name: due_end
-- Of the due rows of one priority, behind a place: the last one of so many, which is where a step of a look ends. Nothing where there are
-- fewer.
SELECT id, CAST(available_at AS TEXT) AS at FROM outbox INDEXED BY outbox_due
WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = ?2
  AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND (available_at, id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
ORDER BY available_at, id LIMIT 1 OFFSET ?5

-- name: end_term
-- What is repeated adds nothing.
UPDATE outbox_term_log
SET ended_at = CASE WHEN ended_because = 'lost' THEN ended_at ELSE CAST(round(unixepoch('subsec') * 1000) AS INTEGER) END,
    in_doubt = coalesce(in_doubt, 0) + CASE WHEN coalesce(ended_because, 'lost') = 'lost' THEN ?8 ELSE 0 END,
    ended_because = ?4, claimed = ?5, delivered = ?6, failed = ?7
WHERE shard = ?1 AND epoch = ?2 AND holder = ?3

-- name: lock_free
-- Those of the asked that wait. Nobody else has locked any: whoever writes has locked the file.
SELECT o.id FROM json_each(?1) asked CROSS JOIN outbox o ON o.id = asked.value AND o.status = 'PENDING'

-- name: mark
UPDATE outbox AS o
SET status = m.status,
    revision = o.revision + 1,
    attempts = o.attempts + m.counted,
    dead_reason = m.dead_reason,
    available_at = coalesce(now.ms + m.after_ms, o.available_at),
    deadline_ms = coalesce(m.deadline_ms, o.deadline_ms),
    deferred_from = CASE WHEN m.spared_ms > 0 THEN now.ms + m.spared_ms
                         WHEN m.deferred THEN coalesce(o.deferred_from, o.available_at)
                         -- An unsent row may have been put aside since its claim, and is still to be brought back.
                         WHEN m.status = 'PENDING' AND m.after_ms IS NULL THEN o.deferred_from END,
    first_attempt_at = CASE WHEN m.counted = 0 AND m.spared_ms IS NULL THEN o.first_attempt_at
                            ELSE coalesce(o.first_attempt_at, now.ms - m.started_ms) END,
    finished_at = CASE WHEN m.status <> 'PENDING' THEN now.ms END,
    receipt = coalesce(m.receipt, o.receipt),
    last_status_code = coalesce(m.status_code, o.last_status_code),
    last_error = CASE WHEN m.status = 'SUCCESS' THEN NULL ELSE coalesce(m.error, o.last_error) END,
    error_hash = m.error_hash
FROM (
    SELECT value ->> 'id' AS id, value ->> 'revision' AS revision, value ->> 'status' AS status,
           value ->> 'counted' AS counted, value ->> 'dead_reason' AS dead_reason, value ->> 'after_ms' AS after_ms,
           value ->> 'deadline_ms' AS deadline_ms,
           value ->> 'deferred' AS deferred, value ->> 'spared_ms' AS spared_ms, value ->> 'started_ms' AS started_ms, value ->> 'receipt' AS receipt,
           value ->> 'status_code' AS status_code, value ->> 'error' AS error,
           value ->> 'error_hash' AS error_hash
    FROM json_each(?1)
) AS m, (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS ms) AS now
WHERE o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING'
RETURNING id

-- name: mark_delivered
-- As `mark` does, of plain deliveries.
UPDATE outbox AS o
SET status = 'SUCCESS',
    revision = o.revision + 1,
    attempts = o.attempts + 1,
    dead_reason = NULL,
    deferred_from = NULL,
    first_attempt_at = coalesce(o.first_attempt_at, now.ms - m.started_ms),
    finished_at = now.ms,
    receipt = coalesce(m.receipt, o.receipt),
    last_status_code = coalesce(m.status_code, o.last_status_code),
    last_error = NULL,
    error_hash = NULL
FROM (
    SELECT value ->> 'id' AS id, value ->> 'revision' AS revision, value ->> 'started_ms' AS started_ms,
           value ->> 'status_code' AS status_code, value ->> 'receipt' AS receipt
    FROM json_each(?1)
) AS m, (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS ms) AS now
WHERE o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING'
RETURNING id

-- name: mark_fenced
-- Of the marks that were refused, those that find the row elsewhere than where they would have put it. A mark that
-- finds its own effect, and its attempt where it records one, is a repeated mark, not a fenced one.
SELECT m.value ->> 'id' AS id FROM json_each(?1) AS m LEFT JOIN outbox o ON o.id = m.value ->> 'id'
WHERE o.id IS NULL OR o.revision <> (m.value ->> 'revision') + 1 OR o.status <> m.value ->> 'status'
   OR (m.value ->> 'record' AND NOT EXISTS (
        SELECT 1 FROM outbox_attempt a WHERE a.message_id = o.id AND a.epoch = m.value ->> 'epoch'
        AND a.holder = m.value ->> 'holder' AND a.number = m.value ->> 'number' AND a.outcome = m.value ->> 'outcome'))

-- name: mark_invalid_target
INSERT INTO outbox_invalid_target (channel, target, reason)
SELECT o.channel, o.target, m.value ->> 'error' FROM json_each(?1) AS m CROSS JOIN outbox o ON o.id = m.value ->> 'id'
WHERE true
ON CONFLICT (channel, target) DO UPDATE SET reason = excluded.reason, observed_at = excluded.observed_at

-- name: mark_pause
-- What somebody paused by hand stays paused. Of two other pauses the one that ends later counts; a breaker stays one
-- until it closes, or nobody would try it carefully.
INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, failures)
SELECT value ->> 'paused', CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + (value ->> 'paused_ms'),
       'dispatcher', value ->> 'pause_kind', value ->> 'error', value ->> 'pause_kind' = 'breaker'
FROM json_each(?1) WHERE true
ON CONFLICT (destination) DO UPDATE
SET paused_until = max(coalesce(paused_until, 0), excluded.paused_until),
    paused_by = iif(paused_until > excluded.paused_until, paused_by, excluded.paused_by),
    pause_kind = CASE WHEN 'breaker' IN (pause_kind, excluded.pause_kind) THEN 'breaker'
                      WHEN paused_until > excluded.paused_until THEN pause_kind ELSE excluded.pause_kind END,
    reason = iif(paused_until > excluded.paused_until, reason, excluded.reason),
    failures = failures + excluded.failures
WHERE pause_kind IS NOT 'hand' OR paused_until IS NULL
   OR paused_until <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)

-- name: mark_record
-- A delivery that was fenced is recorded once, however often its mark is repeated.
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, duration_ms,
                            outcome, status_code, error, excerpt)
SELECT m.value ->> 'id', m.value ->> 'number', m.value ->> 'epoch', m.value ->> 'holder', c.claimed_at,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - (m.value ->> 'started_ms'), m.value ->> 'duration_ms',
       m.value ->> 'outcome', m.value ->> 'status_code', m.value ->> 'error', m.value ->> 'excerpt'
FROM json_each(?1) AS m LEFT JOIN outbox_claim c ON c.id = m.value ->> 'claim'
WHERE m.value ->> 'outcome' <> 'delivered_fenced' OR NOT EXISTS (
    SELECT 1 FROM outbox_attempt a WHERE a.message_id = m.value ->> 'id' AND a.epoch = m.value ->> 'epoch'
    AND a.holder = m.value ->> 'holder' AND a.number = m.value ->> 'number' AND a.outcome = m.value ->> 'outcome')

-- name: outcomes
-- The messages that tell of outcomes, in the transaction that writes these. A repeated mark finds the key, and adds nothing. Only a
-- row with a revision may have such a key, and no application writes one. No outcome is told of an outcome, whatever the settings of
-- another replica say.
INSERT INTO outbox (idempotency_key, channel, target, payload, tenant, shard, revision)
SELECT 'outcome:' || meta.outbox_id || ':' || o.id || ':' || o.revision, told.channel, told.target,
       json_object(
           'id', o.id, 'idempotency_key', o.idempotency_key, 'channel', o.channel, 'destination', o.destination,
           'status', o.status, 'reason', o.dead_reason, 'error', told.error, 'status_code', o.last_status_code,
           'attempts', o.attempts, 'at', strftime('%Y-%m-%dT%H:%M:%fZ', o.finished_at / 1000.0, 'unixepoch'),
           'tenant', o.tenant, 'tags', json(o.tags), 'replay_of', o.replay_of),
       o.tenant, o.shard, 1
FROM (
    SELECT value ->> 'id' AS id, value ->> 'revision' AS revision, value ->> 'status' AS status,
           value ->> 'dead_reason' AS dead_reason, value ->> 'error' AS error, value ->> 'channel' AS channel,
           value ->> 'target' AS target
    FROM json_each(?1)
) AS told
JOIN outbox o ON o.id = told.id AND o.revision = told.revision AND o.status = told.status
             AND o.dead_reason IS told.dead_reason
CROSS JOIN outbox_meta meta
WHERE o.idempotency_key NOT GLOB 'outcome:????????-????-????-????-????????????:*'
ORDER BY o.id
ON CONFLICT (idempotency_key) DO NOTHING

-- name: outcomes_settled
-- Rows in doubt that were settled, and are dead.
SELECT o.id, o.revision, o.channel, o.dead_reason
FROM json_each(?1) AS settled JOIN outbox o ON o.id = settled.value
WHERE o.status = 'DEAD'

-- name: outcomes_texts
-- What rows that ended say of themselves in the targets of their outcomes.
SELECT o.id, o.idempotency_key, o.channel, o.tenant
FROM json_each(?1) AS ended JOIN outbox o ON o.id = ended.value

-- name: release_bar
-- Claim nothing under an id, so that nothing else can be claimed under it: the statement of a claim that was given up may be under
-- way. Whoever settles finds nothing left to decide, and removes it.
INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms,
                          at_most_once)
SELECT ?1, t.shard, t.epoch, t.holder, '[]', '[]', CAST(round(unixepoch('subsec') * 1000) AS INTEGER), 0, 0, '[]'
FROM outbox_term t WHERE t.shard = ?2
ON CONFLICT (id) DO NOTHING

-- name: release_made
-- Release the rows of a claim that was made and given up: nothing of it was sent.
DELETE FROM outbox_claim WHERE id = ?1 AND json_array_length(message_ids) > 0

-- name: settle
UPDATE outbox AS o
SET status = d.status,
    dead_reason = d.dead_reason,
    revision = o.revision + 1,
    attempts = d.number,
    available_at = d.now_ms,
    first_attempt_at = coalesce(o.first_attempt_at, d.claimed_at),
    finished_at = CASE WHEN d.status <> 'PENDING' THEN d.now_ms END,
    last_error = d.error,
    error_hash = d.error_hash
FROM (
    SELECT m.value ->> 'message_id' AS id, m.value ->> 'number' AS number, m.value ->> 'status' AS status,
           m.value ->> 'dead_reason' AS dead_reason, m.value ->> 'error' AS error,
           m.value ->> 'error_hash' AS error_hash, c.claimed_at,
           CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms
    FROM json_each(?1) AS m JOIN outbox_claim c ON c.id = m.value ->> 'claim'
) AS d
WHERE o.id = d.id

-- name: settle_count
-- How many messages were settled, in the log of the term that left each in doubt.
UPDATE outbox_term_log AS l
SET in_doubt = coalesce(l.in_doubt, 0) + their.messages
FROM (
    SELECT c.shard, c.epoch, count(*) AS messages
    FROM json_each(?1) AS d JOIN outbox_claim c ON c.id = d.value ->> 'claim'
    GROUP BY c.shard, c.epoch
) AS their
WHERE l.shard = their.shard AND l.epoch = their.epoch

-- name: settle_doubt
-- Rows in doubt and what their channel's policy makes of them.
SELECT o.id AS message_id, o.destination, min(o.attempts + 1, 32767) AS number, c.id AS claim, c.epoch, c.holder,
       c.gate_closed_at IS NULL AS crashed,
       -- Only where both its claimer and this poller would; one of them may not know the channel.
       coalesce(policy.value ->> 'resend', 1) AND o.channel NOT IN (SELECT value FROM json_each(c.at_most_once)) AS resend,
       coalesce(o.attempts + 1 >= coalesce(o.max_attempts, policy.value ->> 'max_attempts'), 0) AS used_up
FROM outbox_claim c
CROSS JOIN json_each(c.message_ids) sent
CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key AND o.status = 'PENDING'
LEFT JOIN json_each(?2) policy ON policy.value ->> 'name' = o.channel
WHERE c.id IN (SELECT value FROM json_each(?1))

-- name: settle_open
-- Of these claims, those of which something is left to decide: its row refuses the decision.
SELECT DISTINCT c.id
FROM outbox_claim c
CROSS JOIN json_each(c.message_ids) sent
CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key AND o.status = 'PENDING'
WHERE c.id IN (SELECT value FROM json_each(?1))

-- name: settle_over
-- Claims whose settling time is over, or of which nothing is left to decide: those need not wait.
SELECT c.id
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
WHERE t.shard = ?1 AND c.superseded_at IS NOT NULL
  AND (c.superseded_at + CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END
       <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
       OR NOT EXISTS (
           SELECT 1 FROM json_each(c.message_ids) sent
           CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key AND o.status = 'PENDING'))
ORDER BY c.id

-- name: settle_record
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, outcome, error)
SELECT d.value ->> 'message_id', d.value ->> 'number', c.epoch, c.holder, c.claimed_at, 'in_doubt',
       d.value ->> 'explanation'
FROM json_each(?1) AS d JOIN outbox_claim c ON c.id = d.value ->> 'claim'
ORDER BY d.value ->> 'message_id'

-- name: settled
-- Of these rows, those that were settled, where no later attempt is on record.
SELECT o.id AS message_id, o.destination, a.error = ?2 AS crashed, o.status = 'PENDING' AS resend
FROM json_each(?1) AS asked
CROSS JOIN outbox o ON o.id = asked.value AND o.status IN ('PENDING', 'DEAD')
CROSS JOIN outbox_attempt a ON a.message_id = o.id AND a.outcome = 'in_doubt' AND a.error IN (?2, ?3)
WHERE NOT EXISTS (SELECT 1 FROM outbox_attempt later WHERE later.message_id = o.id AND later.id > a.id)
ORDER BY o.id

-- name: supersede
UPDATE outbox_claim SET superseded_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE id IN (SELECT value FROM json_each(?1))

-- name: term_ensure
INSERT INTO outbox_term (shard, epoch, holder, started_at) VALUES (?1, 0, '', CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
ON CONFLICT (shard) DO NOTHING

-- name: term_lock
SELECT epoch, holder FROM outbox_term WHERE shard = ?1

-- name: term_lock_shared
SELECT epoch, holder FROM outbox_term WHERE shard = ?1

-- name: term_log
INSERT INTO outbox_term_log (shard, epoch, holder, started_at, in_doubt, served_by)
VALUES (?1, ?2, ?3, CAST(round(unixepoch('subsec') * 1000) AS INTEGER), 0, ?4)

-- name: term_log_lost
UPDATE outbox_term_log SET ended_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER), ended_because = 'lost'
WHERE shard = ?1 AND epoch = ?2 AND ended_at IS NULL

-- name: term_mint
UPDATE outbox_term
SET epoch = ?2, holder = ?3, started_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER), unsettled_from = ?4
WHERE shard = ?1

-- name: trial
-- A message of nobody's channel, on a shard that nobody polls. Its id is none that the table gives: those are not used up.
INSERT INTO outbox (id, channel, target, ordering_key, payload, shard)
VALUES (-1 - abs(random() % 1000000000000000), 'outbox-trial', ?1, ?2, '{}', ?3)

-- name: unclosed
-- The claims of a term that has ended.
SELECT id FROM outbox_claim WHERE shard = ?1 AND epoch = ?2 AND holder = ?3 AND gate_closed_at IS NULL

-- name: unmarked
-- Deliveries that could not be marked, each once.
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, duration_ms, outcome, error)
SELECT m.value ->> 'id', m.value ->> 'number', m.value ->> 'epoch', m.value ->> 'holder', c.claimed_at,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - (m.value ->> 'started_ms'), m.value ->> 'duration_ms',
       'delivered_unmarked', m.value ->> 'error'
FROM json_each(?1) AS m LEFT JOIN outbox_claim c ON c.id = m.value ->> 'claim'
WHERE NOT EXISTS (
    SELECT 1 FROM outbox_attempt a WHERE a.message_id = m.value ->> 'id' AND a.epoch = m.value ->> 'epoch'
    AND a.holder = m.value ->> 'holder' AND a.number = m.value ->> 'number' AND a.outcome = 'delivered_unmarked')

-- name: unsettled
-- Rows that may still be in flight under claims of earlier terms. A row that its poller has marked since is not among them.
SELECT o.id,
       c.superseded_at - CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
       + CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END AS settles_in_ms
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
CROSS JOIN json_each(c.message_ids) sent
CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key AND o.status = 'PENDING'
WHERE t.shard = ?1 AND c.superseded_at IS NOT NULL

-- name: unsettled_from
-- The lowest epoch of which a claim is left, or else the given one.
SELECT coalesce(min(c.epoch), ?2)
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from
WHERE t.shard = ?1

-- name: unsuperseded
-- The claims of the last term, which one that begins supersedes.
SELECT id FROM outbox_claim WHERE shard = ?1 AND epoch = ?2 AND superseded_at IS NULL ORDER BY id
