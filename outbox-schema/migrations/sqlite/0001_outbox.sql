-- The outbox: an application inserts channel, target and payload; all else has defaults.
--
-- Times are whole milliseconds since 1970, UTC. To read one: datetime(available_at / 1000, 'unixepoch').
-- What is here is evaluated by the application's SQLite too, which may be as old as 3.35: no STRICT tables.
-- Columns take any type that SQLite does not refuse, so the CHECKs say what a row must be: one row of another type
-- would fail every claim that meets it.

CREATE TABLE outbox (
    id               INTEGER PRIMARY KEY AUTOINCREMENT, -- an id is never used twice, also after a purge
    -- A time-ordered UUID (RFC 9562, version 7): a random one would scatter the index. The application's SQLite may know no
    -- unixepoch('subsec') (3.42), so it computes now in this way here, in the other defaults and in enqueue.sql. All other
    -- statements run on the SQLite that is built into the program, and ask for it.
    idempotency_key  TEXT NOT NULL UNIQUE DEFAULT (lower(printf('%08x-%04x-7%s-8%s-%s',
                         CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) >> 16,
                         CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) & 65535,
                         substr(hex(randomblob(2)), 2), substr(hex(randomblob(2)), 2), hex(randomblob(6)))))
                     CHECK (typeof(idempotency_key) = 'text' AND length(idempotency_key) <= 255),
    channel          TEXT NOT NULL CHECK (typeof(channel) = 'text' AND length(channel) <= 64),
    target           TEXT NOT NULL CHECK (typeof(target) = 'text'),
    -- A step on the way to destination: what stands between :// and the path of a URL, else NULL.
    authority        TEXT GENERATED ALWAYS AS (
                         CASE WHEN lower(substr(target, 1, 7)) = 'http://' OR lower(substr(target, 1, 8)) = 'https://'
                         THEN substr(target, instr(target, '://') + 3,
                                     instr(replace(replace(substr(target, instr(target, '://') + 3) || '/',
                                                           '?', '/'), '#', '/'), '/') - 1) END) VIRTUAL,
    -- The unit that is paused, limited and counted: scheme://host:port of a URL, else the channel. Trimming from
    -- the right all that is not an @ leaves the user info; trimming the digits leaves a colon where there is a port.
    destination      TEXT GENERATED ALWAYS AS (
                         CASE WHEN authority IS NULL OR authority = '' THEN channel
                         ELSE substr(
                             lower(substr(target, 1, instr(target, '://') + 2))
                             || lower(substr(authority, length(rtrim(authority, replace(authority, '@', ''))) + 1))
                             || CASE
                                 WHEN substr(authority, -1) <> ':' AND substr(rtrim(authority, '0123456789'), -1) = ':'
                                 THEN ''
                                 WHEN lower(substr(target, 1, 6)) = 'https:' THEN ':443'
                                 ELSE ':80'
                             END, 1, 255)
                         END) STORED,
    payload          TEXT NOT NULL CHECK (typeof(payload) = 'text' AND json_valid(payload)),
    -- So that a claim can stay within its bytes without reading the bodies.
    payload_bytes    INTEGER GENERATED ALWAYS AS (length(CAST(payload AS BLOB))) STORED,
    headers          TEXT CHECK (headers IS NULL OR (typeof(headers) = 'text' AND json_valid(headers))),
    ordering_key     TEXT CHECK (ordering_key IS NULL
                                OR (typeof(ordering_key) = 'text' AND length(ordering_key) <= 255)),
    priority         INTEGER NOT NULL DEFAULT 0 CONSTRAINT outbox_priority CHECK (priority IN (0, 1, 2, 3)),
    shard            INTEGER NOT NULL DEFAULT 0 CHECK (typeof(shard) = 'integer'),
    -- Room to rise: a row of which the revision cannot rise could be sent, and never be marked.
    revision         INTEGER NOT NULL DEFAULT 0
                     CONSTRAINT outbox_revision
                     CHECK (typeof(revision) = 'integer' AND revision BETWEEN 0 AND 2000000000),
    status           TEXT NOT NULL DEFAULT 'PENDING'
                     CONSTRAINT outbox_status CHECK (status IN ('PENDING', 'SUCCESS', 'DEAD')),
    dead_reason      TEXT,
    attempts         INTEGER NOT NULL DEFAULT 0
                     CHECK (typeof(attempts) = 'integer' AND attempts BETWEEN -32768 AND 32767),
    -- What the other databases take; the poller says what is wrong with a number below 1.
    max_attempts     INTEGER
                     CHECK (max_attempts IS NULL
                            OR (typeof(max_attempts) = 'integer' AND max_attempts BETWEEN -32768 AND 32767)),
    -- A text would count as later than every number: a row that is never due.
    available_at     INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
                     CONSTRAINT outbox_available_at_in_ms CHECK (typeof(available_at) IN ('integer', 'real')),
    -- When a deferred row was first due or, where it was tried, may be tried again: lag counts from here, and the end of
    -- the pause moves it back.
    deferred_from    INTEGER,
    expires_at       INTEGER
                     CONSTRAINT outbox_expires_at_in_ms CHECK (typeof(expires_at) IN ('integer', 'real', 'null')),
    first_attempt_at INTEGER,
    traceparent      TEXT CHECK (typeof(traceparent) IN ('text', 'null')),
    tracestate       TEXT CHECK (typeof(tracestate) IN ('text', 'null')),
    last_error       TEXT,
    last_status_code INTEGER,
    -- Of a dead letter: stands for its last_error without the variable parts.
    error_hash       TEXT,
    receipt          TEXT,
    created_at       INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
                     CONSTRAINT outbox_created_at_in_ms CHECK (typeof(created_at) IN ('integer', 'real')),
    finished_at      INTEGER,
    -- Of a dead letter: since when, and what it has in common with others. NULL for all other rows.
    dead_at          INTEGER GENERATED ALWAYS AS (
                         CASE WHEN status = 'DEAD' THEN CAST(coalesce(finished_at, created_at) AS INTEGER) END) STORED,
    fingerprint      TEXT GENERATED ALWAYS AS (
                         CASE WHEN status = 'DEAD' THEN
                             channel || '/' || coalesce(dead_reason, '-') || '/' || coalesce(last_status_code, '-')
                             || '/' || coalesce(error_hash, '-')
                         END) STORED
);

-- The poll walks these two and nothing else.
CREATE INDEX outbox_due ON outbox (shard, priority, available_at, id)
    WHERE status = 'PENDING' AND ordering_key IS NULL;
CREATE INDEX outbox_ordered ON outbox (shard, channel, ordering_key, id)
    WHERE status = 'PENDING' AND ordering_key IS NOT NULL;
-- What halts an ordering key where its channel says so: the dead, but for those that somebody cancelled.
CREATE INDEX outbox_halting ON outbox (shard, channel, ordering_key, id)
    WHERE status = 'DEAD' AND ordering_key IS NOT NULL AND dead_reason IS NOT 'cancelled';
CREATE INDEX outbox_deferred ON outbox (destination) WHERE deferred_from IS NOT NULL;
-- Dead letters are counted and listed from these alone, however many there are.
CREATE INDEX outbox_dead ON outbox (fingerprint, dead_at, id) WHERE status = 'DEAD';
CREATE INDEX outbox_dead_destination ON outbox (destination, fingerprint, dead_at, id) WHERE status = 'DEAD';

CREATE TABLE outbox_meta (
    one            INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    schema_version INTEGER NOT NULL,
    outbox_id      TEXT NOT NULL,
    environment    TEXT NOT NULL
);
INSERT INTO outbox_meta (schema_version, outbox_id, environment)
VALUES (1, lower(printf('%s-%s-4%s-8%s-%s', hex(randomblob(4)), hex(randomblob(2)), substr(hex(randomblob(2)), 2),
                        substr(hex(randomblob(2)), 2), hex(randomblob(6)))), 'default');

CREATE TABLE outbox_term (
    shard      INTEGER PRIMARY KEY,
    epoch      INTEGER NOT NULL,
    holder     TEXT NOT NULL,
    started_at INTEGER NOT NULL
);
INSERT INTO outbox_term (shard, epoch, holder, started_at)
VALUES (0, 0, '', CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER));

CREATE TABLE outbox_term_log (
    shard         INTEGER NOT NULL,
    epoch         INTEGER NOT NULL,
    holder        TEXT NOT NULL,
    started_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    ended_because TEXT,
    claimed       INTEGER,
    delivered     INTEGER,
    failed        INTEGER,
    PRIMARY KEY (shard, epoch)
);

CREATE TABLE outbox_claim (
    id                 TEXT PRIMARY KEY,
    shard              INTEGER NOT NULL,
    epoch              INTEGER NOT NULL,
    holder             TEXT NOT NULL,
    -- Two JSON arrays of the same length: the rows, and the revision of each.
    message_ids        TEXT NOT NULL,
    revisions          TEXT NOT NULL,
    claimed_at         INTEGER NOT NULL,
    settling_ms        INTEGER NOT NULL,
    -- The same without the lease's ttl, for a holder that has said that its gate is closed.
    settling_closed_ms INTEGER NOT NULL,
    -- A JSON array of the channels of which its claimer sends nothing again that is in doubt: for whoever settles it
    -- without knowing them.
    at_most_once       TEXT NOT NULL,
    gate_closed_at     INTEGER,
    superseded_at      INTEGER
);

CREATE TABLE outbox_attempt (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id  INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    holder      TEXT NOT NULL,
    claimed_at  INTEGER,
    started_at  INTEGER,
    duration_ms INTEGER,
    outcome     TEXT NOT NULL,
    status_code INTEGER,
    error       TEXT,
    excerpt     TEXT
);
CREATE INDEX outbox_attempt_message ON outbox_attempt (message_id, id);

CREATE TABLE outbox_destination (
    destination  TEXT PRIMARY KEY,
    paused_until INTEGER,
    -- Who paused it: a person, or 'dispatcher'.
    paused_by    TEXT,
    -- 'hand', 'breaker' (too many failures), 'asked' (it asked to be left alone), or 'barred' (what stands before all of a
    -- channel asked for that).
    pause_kind   TEXT,
    reason       TEXT,
    -- Pauses in a row that it has failed into.
    failures     INTEGER NOT NULL DEFAULT 0,
    -- Until when the last of its rows was put aside.
    aside_until  INTEGER,
    -- Since when its rate rises, and when it was last sent to.
    ramp_from    INTEGER,
    last_sent_at INTEGER,
    -- When somebody last paused or resumed it: what the poller looks for.
    by_hand_at   INTEGER
);

CREATE TABLE outbox_invalid_target (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    channel     TEXT NOT NULL,
    target      TEXT NOT NULL,
    reason      TEXT,
    observed_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
);
CREATE UNIQUE INDEX outbox_invalid_target_once ON outbox_invalid_target (channel, target);

CREATE TABLE outbox_audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    who        TEXT NOT NULL,
    action     TEXT NOT NULL,
    why        TEXT,
    message_id INTEGER,
    details    TEXT,
    -- Of the entry of one message: the entry of the whole operation.
    part_of    INTEGER
);
CREATE INDEX outbox_audit_message ON outbox_audit (message_id, id) WHERE message_id IS NOT NULL;
CREATE INDEX outbox_audit_part_of ON outbox_audit (part_of, id) WHERE part_of IS NOT NULL;

CREATE TABLE outbox_lease (
    shard      INTEGER PRIMARY KEY,
    holder     TEXT NOT NULL,
    expires_at INTEGER NOT NULL
);
