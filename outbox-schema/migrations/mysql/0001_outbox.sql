-- The outbox: an application inserts channel, target and payload; all else has defaults.
--
-- What MySQL 8.0.16 and MariaDB 10.6 share. Times are UTC, whatever the session's time zone. Names, keys and
-- states are compared byte for byte, but for trailing spaces, which no binary collation that both know heeds.
-- JSON columns are text on MariaDB: read them with CAST(... AS CHAR).

-- MySQL commits each of these at once. Each can be run again, and the row of outbox_meta comes last: a migration that
-- broke off is told by its absence, and goes on when it is run again.

CREATE TABLE IF NOT EXISTS outbox_meta (
    one            tinyint NOT NULL DEFAULT 1 PRIMARY KEY,
    schema_version integer NOT NULL,
    outbox_id      char(36) NOT NULL,
    environment    varchar(64) NOT NULL,
    CONSTRAINT outbox_meta_one CHECK (one = 1)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outbox (
    id               bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- A time-ordered UUID (RFC 9562, version 7): a random one would scatter the index. UUID() differs from row to
    -- row but not by much, so it is hashed; RAND() keeps servers apart that were cloned with their network address.
    idempotency_key  varchar(255) NOT NULL DEFAULT (CONCAT(
                         INSERT(LPAD(LOWER(HEX(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)),
                                     12, '0'), 9, 0, '-'),
                         '-7',
                         INSERT(INSERT(LEFT(SHA2(CONCAT(UUID(), RAND()), 256), 18), 7, 0, '-'), 4, 0, '-8'))),
    channel          varchar(64) NOT NULL,
    target           text NOT NULL,
    -- The unit that is paused, limited and counted: scheme://host:port of a URL, else the channel.
    destination      varchar(255) GENERATED ALWAYS AS (
                         IF(target REGEXP '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]',
                            LEFT(CONCAT(
                                LOWER(SUBSTRING_INDEX(target, '://', 1)), '://',
                                LOWER(SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(
                                    SUBSTRING(target, LOCATE('://', target) + 3),
                                    '/', 1), '?', 1), '#', 1), '@', -1)),
                                IF(target REGEXP '^[A-Za-z]+://[^/?#]*:[0-9]+([/?#]|$)', '',
                                   IF(target REGEXP '^[Hh][Tt][Tt][Pp][Ss]:', ':443', ':80'))), 255),
                            channel)) STORED,
    payload          json NOT NULL,
    -- So that a claim can stay within its bytes without reading the bodies.
    payload_bytes    integer GENERATED ALWAYS AS (OCTET_LENGTH(payload)) STORED,
    headers          json,
    ordering_key     varchar(255),
    priority         smallint NOT NULL DEFAULT 0,
    shard            smallint NOT NULL DEFAULT 0,
    -- Room to rise: a row of which the revision cannot rise could be sent, and never be marked.
    revision         integer NOT NULL DEFAULT 0,
    status           varchar(16) NOT NULL DEFAULT 'PENDING',
    dead_reason      varchar(32),
    attempts         smallint NOT NULL DEFAULT 0,
    max_attempts     smallint,
    available_at     datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    -- When a deferred row was first due or, where it was tried, may be tried again: lag counts from here, and the end of
    -- the pause moves it back.
    deferred_from    datetime(6),
    expires_at       datetime(6),
    first_attempt_at datetime(6),
    traceparent      varchar(64),
    tracestate       varchar(512),
    last_error       text,
    last_status_code integer,
    -- Of a dead letter: stands for its last_error without the variable parts.
    error_hash       varchar(16),
    receipt          text,
    created_at       datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    finished_at      datetime(6),
    -- Room for what the mark of a delivery adds (two times and a status code): it sets this to NULL. Where a row grows in a
    -- full page, InnoDB writes the page anew: 3.6 kB of log for each mark, and 0.6 where the row keeps its size. A receipt
    -- makes it grow all the same.
    mark_room        binary(20) DEFAULT '',
    -- Of a dead letter: since when, and what it has in common with others. NULL for all other rows.
    dead_at          datetime(6) GENERATED ALWAYS AS (
                         IF(status = 'DEAD', COALESCE(finished_at, created_at), NULL)) STORED,
    fingerprint      varchar(255) GENERATED ALWAYS AS (
                         IF(status = 'DEAD',
                            CONCAT(channel, '/', COALESCE(dead_reason, '-'), '/', COALESCE(last_status_code, '-'), '/',
                                   COALESCE(error_hash, '-')), NULL)) STORED,
    -- One of `http ` would be taken for one of `http`, and stand before it in their ordering key.
    CONSTRAINT outbox_channel_ends_in_no_space CHECK (channel NOT LIKE '% '),
    CONSTRAINT outbox_priority CHECK (priority BETWEEN 0 AND 3),
    CONSTRAINT outbox_revision CHECK (revision BETWEEN 0 AND 2000000000),
    CONSTRAINT outbox_status CHECK (status IN ('PENDING', 'SUCCESS', 'DEAD')),
    UNIQUE KEY outbox_idempotency_key (idempotency_key),
    -- There are no partial indexes: the status comes first instead, so that finished rows lie in a stretch of
    -- their own which the poll never enters, and ordering_key next, whose NULLs are the rows without one.
    KEY outbox_due (status, shard, ordering_key, priority, available_at),
    -- The reason, so that the dead of a key are found without reading their rows: all but the cancelled may halt it.
    KEY outbox_ordered (status, shard, ordering_key, channel, id, dead_reason),
    -- Marking a success touches none of these: to nearly all rows they hold NULL. Dead letters are counted and listed
    -- from the last two alone, however many there are.
    KEY outbox_deferred (deferred_from),
    KEY outbox_dead (fingerprint, dead_at),
    KEY outbox_dead_destination (fingerprint, destination, dead_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outbox_term (
    shard      smallint NOT NULL PRIMARY KEY,
    epoch      bigint NOT NULL,
    holder     varchar(255) NOT NULL,
    started_at datetime(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO outbox_term (shard, epoch, holder, started_at) VALUES (0, 0, '', UTC_TIMESTAMP(6));

CREATE TABLE IF NOT EXISTS outbox_term_log (
    shard         smallint NOT NULL,
    epoch         bigint NOT NULL,
    holder        varchar(255) NOT NULL,
    started_at    datetime(6) NOT NULL,
    ended_at      datetime(6),
    ended_because varchar(32),
    claimed       bigint,
    delivered     bigint,
    failed        bigint,
    PRIMARY KEY (shard, epoch)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outbox_claim (
    id                 char(36) NOT NULL PRIMARY KEY,
    shard              smallint NOT NULL,
    epoch              bigint NOT NULL,
    holder             varchar(255) NOT NULL,
    -- Two arrays of the same length: the rows, and the revision of each.
    message_ids        json NOT NULL,
    revisions          json NOT NULL,
    claimed_at         datetime(6) NOT NULL,
    settling_ms        bigint NOT NULL,
    -- The same without the lease's ttl, for a holder that has said that its gate is closed.
    settling_closed_ms bigint NOT NULL,
    -- An array of the channels of which its claimer sends nothing again that is in doubt: for whoever settles it without
    -- knowing them.
    at_most_once       json NOT NULL,
    gate_closed_at     datetime(6),
    superseded_at      datetime(6)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outbox_attempt (
    id          bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    message_id  bigint NOT NULL,
    number      integer NOT NULL,
    epoch       bigint NOT NULL,
    holder      varchar(255) NOT NULL,
    claimed_at  datetime(6),
    started_at  datetime(6),
    duration_ms bigint,
    outcome     varchar(32) NOT NULL,
    status_code integer,
    error       text,
    excerpt     text,
    KEY outbox_attempt_message (message_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outbox_destination (
    destination  varchar(255) NOT NULL PRIMARY KEY,
    paused_until datetime(6),
    -- Who paused it: a person, or 'dispatcher'.
    paused_by    varchar(255),
    -- 'hand', 'breaker' (too many failures), 'asked' (it asked to be left alone), or 'barred' (what stands before all of a
    -- channel asked for that).
    pause_kind   varchar(16),
    reason       text,
    -- Pauses in a row that it has failed into.
    failures     integer NOT NULL DEFAULT 0,
    -- Until when the last of its rows was put aside.
    aside_until  datetime(6),
    -- Since when its rate rises, and when it was last sent to.
    ramp_from    datetime(6),
    last_sent_at datetime(6),
    -- When somebody last paused or resumed it: what the poller looks for.
    by_hand_at   datetime(6)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outbox_invalid_target (
    id          bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    channel     varchar(64) NOT NULL,
    target      text NOT NULL,
    -- A target can be longer than an index entry may be.
    target_hash char(64) GENERATED ALWAYS AS (SHA2(target, 256)) STORED,
    reason      text,
    observed_at datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    UNIQUE KEY outbox_invalid_target_once (channel, target_hash)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outbox_audit (
    id         bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at         datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    who        varchar(255) NOT NULL,
    action     varchar(32) NOT NULL,
    why        text,
    message_id bigint,
    details    json,
    -- Of the entry of one message: the entry of the whole operation.
    part_of    bigint,
    KEY outbox_audit_message (message_id, id),
    KEY outbox_audit_part_of (part_of, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outbox_lease (
    shard      smallint NOT NULL PRIMARY KEY,
    holder     varchar(255) NOT NULL,
    expires_at datetime(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Locked, shared, by each open transaction that has called outbox_cancel, and exclusively by each claim that can have it:
-- the others look at the locks of rows.
CREATE TABLE IF NOT EXISTS outbox_cancelling (
    shard smallint NOT NULL PRIMARY KEY
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO outbox_cancelling (shard) VALUES (0);

INSERT INTO outbox_meta (schema_version, outbox_id, environment) VALUES (1, UUID(), 'default');
