-- name: after_all
-- The next transaction begins once the node has applied what the others committed before.
SET SESSION wsrep_sync_wait = 7

-- name: after_all_no_more
SET SESSION wsrep_sync_wait = DEFAULT

-- name: begin
BEGIN;
/*!80000 SET SESSION wait_timeout = 2 */ /*M! DO 0 */ -- See `session`.

-- name: certifies
-- Whether the server is a node of Galera. Others, and builds without it, have no such row.
SHOW VARIABLES WHERE Variable_name = 'wsrep_on' AND Value = 'ON' 

-- name: checked
-- MySQL knows no such setting: there the mode stays as it is.
SET SESSION sql_mode = @@sql_mode /*M!100600 , SESSION check_constraint_checks = 1 */

-- name: claim_insert
INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms,
                          at_most_once)
VALUES (?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6), ?, ?, ?)

-- name: claim_lock
-- Locks the term row only. Whether this claim was made by an earlier try may be read too early here: then its
-- insert, which is unique, fails, and the next try finds it.
SELECT t.epoch, t.holder, EXISTS (SELECT 1 FROM outbox_claim c WHERE c.id = ?1) AS made
FROM outbox_term t WHERE t.shard = ?2 LOCK IN SHARE MODE

-- name: claim_made
-- What a claim was made of.
SELECT CAST(message_ids AS CHAR) AS message_ids, CAST(revisions AS CHAR) AS revisions FROM outbox_claim WHERE id = ?

-- name: claim_undisturbed
-- Held until this claim has committed: whoever is to cancel waits for that. Not had: a cancellation is open, or may be. Locks
-- that row only.
SELECT shard FROM outbox_cancelling WHERE shard = ? FOR UPDATE SKIP LOCKED

-- name: claimed
-- The rows of a claim that may still be sent under it, given as pairs of id and revision. They come in any order, each with its
-- place in the claim: to sort them would take a table with their bodies on disk. What is too large for its channel is not read,
-- and no body where they are not asked for.
SELECT place, id, revision, idempotency_key, channel, target, destination, bytes, too_large,
       IF(too_large OR NOT ?3, '', CAST(payload AS CHAR)) AS payload, IF(too_large OR NOT ?3, NULL, CAST(headers AS CHAR)) AS headers,
       attempts, max_attempts,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at) DIV 1000 AS expires_in_ms,
       TIMESTAMPDIFF(MICROSECOND, first_attempt_at, UTC_TIMESTAMP(6)) DIV 1000 AS retrying_for_ms,
       COALESCE(TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) DIV 1000, 0) AS waited_ms,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at) DIV 1000 AS created_ms,
       deadline_ms, ordering_key, tenant, traceparent, tracestate,
       -- Asked of each row only where there are any.
       IF((SELECT COUNT(*) FROM (SELECT 1 FROM outbox_invalid_target LIMIT 1) gone) = 0, FALSE, EXISTS (
           SELECT 1 FROM outbox_invalid_target gone
           WHERE gone.channel = sized.channel AND gone.target_hash = SHA2(sized.target, 256))) AS target_is_gone
FROM (
    SELECT sent.place, o.id, o.revision, COALESCE(o.sent_key, o.idempotency_key) AS idempotency_key, o.channel, o.target, o.destination, o.payload, o.headers, o.attempts,
           o.max_attempts, o.expires_at, o.first_attempt_at, o.created_at, o.deadline_ms, o.ordering_key, o.tenant, o.traceparent,
           o.tracestate,
           o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) AS bytes,
           COALESCE(o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) > c.most, FALSE) AS too_large
    FROM JSON_TABLE(?1, '$[*]' COLUMNS (
             place FOR ORDINALITY, id bigint PATH '$[0]', revision integer PATH '$[1]')) sent
    STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
    LEFT JOIN JSON_TABLE(?2, '$[*]' COLUMNS (
             name varchar(64) CHARACTER SET utf8mb4 PATH '$.name', most bigint PATH '$.max_message_bytes')) c
           ON c.name = o.channel
) sized

-- name: claimed_body
-- What a claimed row says.
SELECT CAST(payload AS CHAR), CAST(headers AS CHAR) FROM outbox WHERE id = ? AND revision = ?

-- name: claims_delete
DELETE c FROM JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id

-- name: claims_lock
-- Locked by id, as everywhere, and no other claim on the way. The claims that are gone, settled or finished, are not among the
-- answers.
SELECT c.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id
FOR UPDATE /*!80000 OF c */

-- name: clock
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS now_us

-- name: close_gate
-- By id, as everywhere.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id
SET c.gate_closed_at = UTC_TIMESTAMP(6)

-- name: commit
COMMIT;
/*!80000 SET SESSION wait_timeout = 20 */ /*M! DO 0 */ -- See `session`.

-- name: defer
-- Where rows are updated in place, assignments are made from left to right: deferred_from reads what available_at was.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) met
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = met.id AND o.status = 'PENDING'
SET o.deferred_from = COALESCE(o.deferred_from, o.available_at),
    o.available_at = UTC_TIMESTAMP(6) + INTERVAL 1000 * ? MICROSECOND

-- name: defer_behind
-- Having met one row of an unknown channel, find those among the next 2,500 of each priority: they would only be met next. That is a
-- bound: where they are few, one look after the other would read the backlog for them.
SELECT due.id, due.channel FROM (
    (SELECT id, channel FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 3 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT id, channel FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 2 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT id, channel FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 1 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT id, channel FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 0 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
) due
LEFT JOIN JSON_TABLE(?2, '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$.name')) known ON CAST(known.name AS BINARY) = CAST(due.channel AS BINARY)
WHERE known.name IS NULL

-- name: destination_states
-- What a term must know of destinations: pauses that are on, breakers that are not closed, rows put aside, rates that rise. Goes on
-- in another file.
SELECT destination, pause_kind,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000 AS paused_ms, failures,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), aside_until) DIV 1000 AS aside_ms,
       TIMESTAMPDIFF(MICROSECOND, ramp_from, UTC_TIMESTAMP(6)) DIV 1000 AS ramp_ms,
       TIMESTAMPDIFF(MICROSECOND, last_sent_at, UTC_TIMESTAMP(6)) DIV 1000 AS unused_ms
FROM outbox_destination
WHERE (paused_until > UTC_TIMESTAMP(6) OR aside_until > UTC_TIMESTAMP(6) OR (pause_kind = 'breaker' AND failures > 0)
       OR last_sent_at > UTC_TIMESTAMP(6) - INTERVAL 10 MINUTE)

-- name: destinations_known
  -- Where there are more: channels, then what is paused, and of those what opens soonest.
ORDER BY LOCATE(':', destination) > 0, (paused_until > UTC_TIMESTAMP(6)) IS NOT TRUE,
         GREATEST(COALESCE(paused_until, aside_until), COALESCE(aside_until, paused_until)), destination
LIMIT ?

-- name: destinations_met
  -- Of these.
  AND destination IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                          name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)

-- name: due_count
-- How many rows of one priority are due behind a place: so many at most.
SELECT CAST(COUNT(*) AS SIGNED) AS rows_due FROM (
    SELECT 1 AS one FROM outbox o FORCE INDEX (outbox_due)
    WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2 AND o.available_at <= UTC_TIMESTAMP(6)
      AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
    LIMIT ?5
) due

-- name: due_end
-- Of the due rows of one priority, behind a place: the last one of so many, which is where a step of a look ends. Nothing where there are
-- fewer.
SELECT o.id, CAST(o.available_at AS CHAR) AS at FROM outbox o FORCE INDEX (outbox_due)
WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2 AND o.available_at <= UTC_TIMESTAMP(6)
  AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
ORDER BY o.available_at, o.id LIMIT 1 OFFSET ?5

-- name: end_term
-- Assignments are made from left to right: the first two read what ended_because was. What is repeated adds nothing.
UPDATE outbox_term_log
SET ended_at = CASE WHEN ended_because = 'lost' THEN ended_at ELSE UTC_TIMESTAMP(6) END,
    in_doubt = COALESCE(in_doubt, 0) + CASE WHEN COALESCE(ended_because, 'lost') = 'lost' THEN ?8 ELSE 0 END,
    ended_because = ?4, claimed = ?5, delivered = ?6, failed = ?7
WHERE shard = ?1 AND epoch = ?2 AND holder = ?3

-- name: lineage
-- What there is of these: each server has some.
SHOW VARIABLES WHERE Variable_name IN ('server_uuid', 'hostname', 'port', 'server_id', 'wsrep_on', 'wsrep_node_name', 'read_only',
    'super_read_only', 'innodb_read_only', 'aurora_version')

-- name: lock_free
-- Locks those of the asked that nobody else has locked to change them: what somebody has locked is being cancelled in an open
-- transaction, which is not waited for. Shared, so that tries of one claim that overlap do not take each other for that. MariaDB
-- and MySQL each have their own words for it.
SELECT o.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status = 'PENDING'
/*M! LOCK IN SHARE MODE */ /*!80000 FOR SHARE OF o */ SKIP LOCKED

-- name: lock_no_wait
-- From now on this session waits for no lock; on MySQL, which waits for a second at least, no longer than that.
SET SESSION innodb_lock_wait_timeout = 1 /*M! * 0 */

-- name: lock_wait
-- As `session` has it.
SET SESSION innodb_lock_wait_timeout = 5

-- name: mark
-- Where rows are updated in place, assignments are made from left to right: deferred_from reads what available_at was.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    id bigint PATH '$.id', status varchar(16) CHARACTER SET utf8mb4 PATH '$.status', counted integer PATH '$.counted',
    dead_reason varchar(32) CHARACTER SET utf8mb4 PATH '$.dead_reason', after_ms bigint PATH '$.after_ms',
    deadline_ms integer PATH '$.deadline_ms', deferred boolean PATH '$.deferred', spared_ms bigint PATH '$.spared_ms', receipt text CHARACTER SET utf8mb4 PATH '$.receipt',
    status_code integer PATH '$.status_code', error text CHARACTER SET utf8mb4 PATH '$.error',
    error_hash varchar(16) CHARACTER SET utf8mb4 PATH '$.error_hash',
    started_ms bigint PATH '$.started_ms')) m
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = m.id
SET o.status = m.status,
    o.revision = o.revision + 1,
    o.attempts = o.attempts + m.counted,
    o.dead_reason = m.dead_reason,
    o.deferred_from = CASE WHEN m.spared_ms > 0 THEN UTC_TIMESTAMP(6) + INTERVAL m.spared_ms * 1000 MICROSECOND
                           WHEN m.deferred THEN COALESCE(o.deferred_from, o.available_at)
                           -- An unsent row may have been put aside since its claim, and is still to be brought back.
                           WHEN m.status = 'PENDING' AND m.after_ms IS NULL THEN o.deferred_from END,
    o.available_at = CASE WHEN m.after_ms IS NULL THEN o.available_at
                          ELSE UTC_TIMESTAMP(6) + INTERVAL m.after_ms * 1000 MICROSECOND END,
    o.deadline_ms = COALESCE(m.deadline_ms, o.deadline_ms),
    o.first_attempt_at = CASE WHEN m.counted = 0 AND m.spared_ms IS NULL THEN o.first_attempt_at ELSE COALESCE(
        o.first_attempt_at, UTC_TIMESTAMP(6) - INTERVAL m.started_ms * 1000 MICROSECOND) END,
    o.finished_at = CASE WHEN m.status <> 'PENDING' THEN UTC_TIMESTAMP(6) END,
    o.receipt = COALESCE(m.receipt, o.receipt),
    o.last_status_code = COALESCE(m.status_code, o.last_status_code),
    o.last_error = CASE WHEN m.status = 'SUCCESS' THEN NULL ELSE COALESCE(m.error, o.last_error) END,
    o.error_hash = m.error_hash

-- name: mark_delivered
-- As `mark` does, of plain deliveries, those that may still be marked. What differs from row to row is looked up by the id,
-- which takes longer the more rows there are; most of it does not differ. One table, so that each row is changed as it is found:
-- an UPDATE of a join gathers what it is to assign in a table on disk first, and took a third longer. Sent as text, since there
-- are as many values as rows.
UPDATE outbox FORCE INDEX (PRIMARY)
SET status = 'SUCCESS',
    revision = revision + 1,
    attempts = attempts + 1,
    dead_reason = NULL,
    deferred_from = NULL,
    first_attempt_at = COALESCE(first_attempt_at, UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND),
    finished_at = UTC_TIMESTAMP(6),
    receipt = COALESCE(?, receipt),
    last_status_code = COALESCE(?, last_status_code),
    last_error = NULL,
    error_hash = NULL,
    mark_room = NULL
WHERE id IN (?) AND revision = ? AND status = 'PENDING' COLLATE utf8mb4_bin

-- name: mark_invalid_target
INSERT INTO outbox_invalid_target (channel, target, reason)
SELECT o.channel, o.target, m.error
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    id bigint PATH '$.id', error text CHARACTER SET utf8mb4 PATH '$.error')) m
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = m.id
ON DUPLICATE KEY UPDATE reason = VALUES(reason), observed_at = VALUES(observed_at)

-- name: mark_lock
-- Which rows may still be marked. The lock makes this a read of what is committed now, not of a snapshot. Nobody waits for a row that
-- somebody else has locked: all other marks would wait as well. Sent as text, as `mark_delivered` is.
SELECT id FROM outbox FORCE INDEX (PRIMARY)
WHERE id IN (?) AND revision = ? AND status = 'PENDING' COLLATE utf8mb4_bin
FOR UPDATE SKIP LOCKED

-- name: mark_pause
-- What somebody paused by hand stays paused. Of two other pauses the one that ends later counts; a breaker stays one
-- until it closes, or nobody would try it carefully. Assignments are made from left to right: a kind that is not kept is
-- not `hand` for those after it.
INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, failures)
SELECT m.paused, UTC_TIMESTAMP(6) + INTERVAL m.paused_ms * 1000 MICROSECOND, 'dispatcher', m.kind, m.error,
       m.kind = 'breaker'
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    paused varchar(255) CHARACTER SET utf8mb4 PATH '$.paused', paused_ms bigint PATH '$.paused_ms',
    kind varchar(16) CHARACTER SET utf8mb4 PATH '$.pause_kind',
    error text CHARACTER SET utf8mb4 PATH '$.error')) m
ORDER BY m.paused
ON DUPLICATE KEY UPDATE
    pause_kind = CASE WHEN pause_kind <=> 'hand' AND paused_until > UTC_TIMESTAMP(6) THEN 'hand'
                      WHEN 'breaker' IN (pause_kind, VALUES(pause_kind)) THEN 'breaker'
                      WHEN paused_until > VALUES(paused_until) THEN pause_kind ELSE VALUES(pause_kind) END,
    failures = IF(pause_kind <=> 'hand', failures, failures + VALUES(failures)),
    paused_by = IF(pause_kind <=> 'hand' OR paused_until > VALUES(paused_until), paused_by, VALUES(paused_by)),
    reason = IF(pause_kind <=> 'hand' OR paused_until > VALUES(paused_until), reason, VALUES(reason)),
    paused_until = IF(pause_kind <=> 'hand' OR paused_until > VALUES(paused_until), paused_until, VALUES(paused_until))

-- name: mark_record
-- A delivery that was fenced is recorded once, however often its mark is repeated.
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, duration_ms,
                            outcome, status_code, error, excerpt)
SELECT m.id, m.number, m.epoch, m.holder, c.claimed_at,
       UTC_TIMESTAMP(6) - INTERVAL m.started_ms * 1000 MICROSECOND, m.duration_ms,
       m.outcome, m.status_code, m.error, m.excerpt
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    claim char(36) CHARACTER SET utf8mb4 PATH '$.claim', id bigint PATH '$.id', number integer PATH '$.number',
    epoch bigint PATH '$.epoch', holder varchar(255) CHARACTER SET utf8mb4 PATH '$.holder',
    started_ms bigint PATH '$.started_ms', duration_ms bigint PATH '$.duration_ms',
    outcome varchar(32) CHARACTER SET utf8mb4 PATH '$.outcome', status_code integer PATH '$.status_code',
    error text CHARACTER SET utf8mb4 PATH '$.error', excerpt text CHARACTER SET utf8mb4 PATH '$.excerpt')) m
LEFT JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = m.claim
WHERE m.outcome <> 'delivered_fenced' OR NOT EXISTS (
    SELECT 1 FROM outbox_attempt a WHERE a.message_id = m.id AND a.epoch = m.epoch
    AND a.holder = m.holder AND a.number = m.number AND a.outcome = m.outcome)

-- name: mark_refused
-- Of the marks that were refused, those that find the row elsewhere than where they would have put it, and whether it is where its
-- claim found it. A mark that finds its own effect, and its attempt where it records one, is a repeated mark. Nothing is locked.
SELECT m.id, COALESCE(o.revision = m.revision AND o.status = 'PENDING', FALSE) AS unchanged
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    id bigint PATH '$.id', revision integer PATH '$.revision',
    status varchar(16) CHARACTER SET utf8mb4 PATH '$.status', record boolean PATH '$.record',
    number integer PATH '$.number', epoch bigint PATH '$.epoch',
    holder varchar(255) CHARACTER SET utf8mb4 PATH '$.holder',
    outcome varchar(32) CHARACTER SET utf8mb4 PATH '$.outcome')) m
LEFT JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = m.id
WHERE o.id IS NULL OR o.revision <> m.revision + 1 OR o.status <> m.status
   OR (m.record AND NOT EXISTS (
        SELECT 1 FROM outbox_attempt a WHERE a.message_id = m.id AND a.epoch = m.epoch
        AND a.holder = m.holder AND a.number = m.number AND a.outcome = m.outcome))

-- name: odd_priorities
-- Rows with a priority that no claim looks at: MariaDB's check of it can be switched off by whoever writes. The others have none.
SELECT id FROM outbox FORCE INDEX (outbox_due)
WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL AND (priority < 0 OR priority > 3)
LIMIT 1000
FOR UPDATE SKIP LOCKED

-- name: odd_priorities_mend
-- What a check would have refused becomes the nearest priority that there is.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS odd STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = odd.id
SET o.priority = LEAST(GREATEST(o.priority, 0), 3)

-- name: outcomes
-- The messages that tell of outcomes, in the transaction that writes these. A repeated mark finds the key, and adds nothing. Only a
-- row with a revision may have such a key, and no application writes one. No outcome is told of an outcome, whatever the settings of
-- another replica say. Tags that no check of MariaDB has seen may be no JSON, and are left out.
INSERT INTO outbox (idempotency_key, channel, target, payload, tenant, shard, revision)
SELECT CONCAT('outcome:', meta.outbox_id, ':', o.id, ':', o.revision), told.channel, told.target,
       JSON_OBJECT(
           'id', o.id, 'idempotency_key', o.idempotency_key, 'channel', o.channel, 'destination', o.destination,
           'status', o.status, 'reason', o.dead_reason, 'error', told.error, 'status_code', o.last_status_code,
           'attempts', o.attempts,
           'at', CONCAT(LEFT(DATE_FORMAT(o.finished_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z'),
           'tenant', o.tenant, 'tags', JSON_EXTRACT(IF(JSON_VALID(o.tags), o.tags, NULL), '$'), 'replay_of', o.replay_of),
       o.tenant, o.shard, 1
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    id bigint PATH '$.id', revision integer PATH '$.revision', status varchar(16) CHARACTER SET utf8mb4 PATH '$.status',
    dead_reason varchar(32) CHARACTER SET utf8mb4 PATH '$.dead_reason', error text CHARACTER SET utf8mb4 PATH '$.error',
    channel text CHARACTER SET utf8mb4 PATH '$.channel', target longtext CHARACTER SET utf8mb4 PATH '$.target')) told
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = told.id AND o.revision = told.revision AND o.status = told.status
                      AND o.dead_reason <=> told.dead_reason
CROSS JOIN outbox_meta meta
WHERE o.idempotency_key NOT LIKE 'outcome:________-____-____-____-____________:%'
ORDER BY o.id
ON DUPLICATE KEY UPDATE idempotency_key = VALUES(idempotency_key)

-- name: outcomes_settled
-- Rows in doubt that were settled, and are dead.
SELECT o.id, o.revision, o.channel, o.dead_reason
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) settled STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = settled.id
WHERE o.status = 'DEAD'

-- name: outcomes_texts
-- What rows that ended say of themselves in the targets of their outcomes.
SELECT o.id, o.idempotency_key, o.channel, o.tenant
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) ended STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = ended.id

-- name: release_bar
-- Claim nothing under an id, so that nothing else can be claimed under it: the statement of a claim that was given up may be under
-- way. Whoever settles finds nothing left to decide, and removes it.
INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms,
                          at_most_once)
SELECT ?, t.shard, t.epoch, t.holder, '[]', '[]', UTC_TIMESTAMP(6), 0, 0, '[]' FROM outbox_term t WHERE t.shard = ?
ON DUPLICATE KEY UPDATE id = outbox_claim.id

-- name: release_made
-- Release the rows of a claim that was made and given up: nothing of it was sent.
DELETE FROM outbox_claim WHERE id = ? AND JSON_LENGTH(message_ids) > 0

-- name: roll_back
ROLLBACK;
/*!80000 SET SESSION wait_timeout = 20 */ /*M! DO 0 */ -- See `session`.

-- name: session
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- A value that does not fit is an error, whatever the server's own mode; but a date that is no moment, such as
-- 0000-00-00, is taken as the application wrote it, or no statement could move the row. MariaDB and MySQL limit
-- statements each in its own way (and MySQL no statement that writes), and take the other's way for a comment. Whoever is
-- frozen within a transaction must not keep the next poller from its term: MariaDB ends the transaction, MySQL knows only
-- how to end a connection on which nothing was asked for so long. So `begin` makes that time short, and `commit` long. Since 11.6.2 MariaDB refuses by
-- itself (1020) to lock a row that has changed since the statement began; here whoever waited for a lock reads what is true then.
-- On MariaDB whoever writes a row can switch the checks of the table off for it. Here they are off as well: a row that no check has seen
-- could otherwise be neither deferred nor marked, and each claim that meets it would fail.
-- A server that cannot get rid of an answer, since the host of the replica is gone, keeps its locks no longer than a statement may.
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,PIPES_AS_CONCAT', SESSION innodb_lock_wait_timeout = 5,
    SESSION net_write_timeout = 15
    /*M!100600 , SESSION max_statement_time = 15, SESSION idle_transaction_timeout = 2, SESSION check_constraint_checks = 0 */
    /*M!110602 , SESSION innodb_snapshot_isolation = OFF */
    /*!80000 , SESSION max_execution_time = 15000, SESSION wait_timeout = 20 */

-- name: settle
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    message_id bigint PATH '$.message_id', number integer PATH '$.number',
    claim char(36) CHARACTER SET utf8mb4 PATH '$.claim',
    status varchar(16) CHARACTER SET utf8mb4 PATH '$.status',
    dead_reason varchar(32) CHARACTER SET utf8mb4 PATH '$.dead_reason',
    error text CHARACTER SET utf8mb4 PATH '$.error',
    error_hash varchar(16) CHARACTER SET utf8mb4 PATH '$.error_hash')) d
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = d.claim
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = d.message_id
SET o.status = d.status,
    o.dead_reason = d.dead_reason,
    o.revision = o.revision + 1,
    o.attempts = d.number,
    o.available_at = UTC_TIMESTAMP(6),
    o.first_attempt_at = COALESCE(o.first_attempt_at, c.claimed_at),
    o.finished_at = CASE WHEN d.status <> 'PENDING' THEN UTC_TIMESTAMP(6) END,
    o.last_error = d.error,
    o.error_hash = d.error_hash

-- name: settle_count
-- How many messages were settled, in the log of the term that left each in doubt.
UPDATE (
    SELECT c.shard, c.epoch, COUNT(*) AS messages
    FROM JSON_TABLE(?, '$[*]' COLUMNS (claim char(36) CHARACTER SET utf8mb4 PATH '$.claim')) d
    STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = d.claim
    GROUP BY c.shard, c.epoch) their
STRAIGHT_JOIN outbox_term_log l FORCE INDEX (PRIMARY) ON l.shard = their.shard AND l.epoch = their.epoch
SET l.in_doubt = COALESCE(l.in_doubt, 0) + their.messages

-- name: settle_doubt
-- Rows in doubt and what their channel's policy makes of them. Locked, so that they are as committed now, but for those that somebody
-- else has locked: their turn comes later. The claims are locked already.
SELECT o.id AS message_id, o.destination, LEAST(o.attempts + 1, 32767) AS number, sent.claim, sent.epoch, sent.holder,
       sent.crashed,
       -- Only where both its claimer and this poller would; one of them may not know the channel.
       COALESCE(policy.resend, TRUE) AND NOT JSON_CONTAINS(sent.at_most_once, JSON_QUOTE(o.channel)) AS resend,
       COALESCE(o.attempts + 1 >= COALESCE(o.max_attempts, policy.max_attempts), FALSE) AS used_up
FROM (
    SELECT batch.id, JSON_EXTRACT(c.revisions, CONCAT('$[', batch.place - 1, ']')) AS revision, c.id AS claim, c.epoch, c.holder,
           c.gate_closed_at IS NULL AS crashed, c.at_most_once
    FROM JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
    STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id
    STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) batch) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING' AND o.revision = sent.revision
LEFT JOIN JSON_TABLE(?, '$[*]' COLUMNS (
    name varchar(64) CHARACTER SET utf8mb4 PATH '$.name', resend boolean PATH '$.resend',
    max_attempts bigint PATH '$.max_attempts')) policy ON policy.name = o.channel
/*M! FOR UPDATE */ /*!80000 FOR UPDATE OF o */ SKIP LOCKED

-- name: settle_open
-- Of these claims, those of which something is left to decide: its row is locked, or refuses the decision.
SELECT DISTINCT c.id
FROM JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                      AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))

-- name: settle_over
-- Claims whose settling time is over, or of which nothing is left to decide: those need not wait. Revisions only rise and time
-- goes on, so this stays true. Not locked here: see `unsuperseded`.
SELECT c.id
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term)
              ON c.shard = ?1 AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
WHERE t.shard = ?1 AND c.superseded_at IS NOT NULL
  AND (c.superseded_at + INTERVAL 1000
       * CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END MICROSECOND <= UTC_TIMESTAMP(6)
       OR c.id NOT IN (
           SELECT c.id
           FROM outbox_term t
           STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term)
                         ON c.shard = ?1 AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
           STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
           STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                                 AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
           WHERE t.shard = ?1 AND c.superseded_at IS NOT NULL))
ORDER BY c.id

-- name: settle_record
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, outcome, error)
SELECT d.message_id, d.number, c.epoch, c.holder, c.claimed_at, 'in_doubt', d.explanation
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    message_id bigint PATH '$.message_id', number integer PATH '$.number',
    claim char(36) CHARACTER SET utf8mb4 PATH '$.claim',
    explanation text CHARACTER SET utf8mb4 PATH '$.explanation')) d
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = d.claim
ORDER BY d.message_id

-- name: settled
-- Of these rows, those that were settled, where no later attempt is on record.
SELECT o.id AS message_id, o.destination, a.error = ?2 AS crashed, o.status = 'PENDING' AS resend
FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status IN ('PENDING', 'DEAD')
STRAIGHT_JOIN outbox_attempt a FORCE INDEX (outbox_attempt_message) ON a.message_id = o.id AND a.outcome = 'in_doubt' AND a.error IN (?2, ?3)
WHERE NOT EXISTS (SELECT 1 FROM outbox_attempt later WHERE later.message_id = o.id AND later.id > a.id)
ORDER BY o.id

-- name: supersede
-- By id, as everywhere.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id
SET c.superseded_at = UTC_TIMESTAMP(6)

-- name: term_ensure
-- For the first term of a shard. Locks the row exclusively also where it exists by now. INSERT IGNORE would lock it shared, and
-- two campaigners that then both want it exclusively are a deadlock.
INSERT INTO outbox_term (shard, epoch, holder, started_at) VALUES (?, 0, '', UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE shard = VALUES(shard)

-- name: term_lock
SELECT epoch, holder FROM outbox_term WHERE shard = ? FOR UPDATE

-- name: term_lock_shared
SELECT epoch, holder FROM outbox_term WHERE shard = ? LOCK IN SHARE MODE

-- name: term_log
INSERT INTO outbox_term_log (shard, epoch, holder, started_at, in_doubt, served_by) VALUES (?, ?, ?, UTC_TIMESTAMP(6), 0, ?)

-- name: term_log_lost
UPDATE outbox_term_log SET ended_at = UTC_TIMESTAMP(6), ended_because = 'lost'
WHERE shard = ? AND epoch = ? AND ended_at IS NULL

-- name: term_mint
UPDATE outbox_term SET epoch = ?2, holder = ?3, started_at = UTC_TIMESTAMP(6), unsettled_from = ?4 WHERE shard = ?1

-- name: trial
-- A message of nobody's channel, on a shard that nobody polls. Its id is none that the table gives: those are not used up.
INSERT INTO outbox (id, channel, target, ordering_key, payload, shard)
VALUES (-1 - FLOOR(RAND() * 1000000000000000), 'outbox-trial', ?, ?, '{}', ?)

-- name: unclosed
-- The claims of a term that has ended. Not locked here: see `unsuperseded`.
SELECT id FROM outbox_claim FORCE INDEX (outbox_claim_of_term)
WHERE shard = ? AND epoch = ? AND holder = ? AND gate_closed_at IS NULL ORDER BY id

-- name: unmarked
-- Deliveries that could not be marked, each once. It asks for no right to `outbox` itself: that may be what is missing.
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, duration_ms, outcome, error)
SELECT m.id, m.number, m.epoch, m.holder, c.claimed_at,
       UTC_TIMESTAMP(6) - INTERVAL m.started_ms * 1000 MICROSECOND, m.duration_ms, 'delivered_unmarked', m.error
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    claim char(36) CHARACTER SET utf8mb4 PATH '$.claim', id bigint PATH '$.id', number integer PATH '$.number',
    epoch bigint PATH '$.epoch', holder varchar(255) CHARACTER SET utf8mb4 PATH '$.holder',
    started_ms bigint PATH '$.started_ms', duration_ms bigint PATH '$.duration_ms',
    error text CHARACTER SET utf8mb4 PATH '$.error')) m
LEFT JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = m.claim
WHERE NOT EXISTS (
    SELECT 1 FROM outbox_attempt a WHERE a.message_id = m.id AND a.epoch = m.epoch
    AND a.holder = m.holder AND a.number = m.number AND a.outcome = 'delivered_unmarked')

-- name: unsettled
-- Rows that may still be in flight under claims of earlier terms. A row that its poller has marked since is not among them.
SELECT o.id,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), c.superseded_at) DIV 1000
       + CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END AS settles_in_ms
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term)
              ON c.shard = ?1 AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                      AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
WHERE t.shard = ?1 AND c.superseded_at IS NOT NULL

-- name: unsettled_from
-- The lowest epoch of which a claim is left, or else the given one. Not locked here: see `unsuperseded`.
SELECT COALESCE(MIN(c.epoch), ?2)
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term) ON c.shard = ?1 AND c.epoch >= t.unsettled_from
WHERE t.shard = ?1

-- name: unsuperseded
-- The claims of the last term, which one that begins supersedes. It holds the row of the shard's term, so that there can be no
-- more of them. Not locked here: a read that locks would wait for each claim of each shard on its way, in whatever order it comes
-- by them.
SELECT id FROM outbox_claim FORCE INDEX (outbox_claim_of_term)
WHERE shard = ? AND epoch = ? AND superseded_at IS NULL ORDER BY id
