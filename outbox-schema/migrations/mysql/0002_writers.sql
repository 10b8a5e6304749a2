-- What applications of any stack write through: a view that shows nothing, a procedure, and checks that name a mistake.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- Each check binds a row as it is born: whatever decides about a row later raises its revision. Rows of before that would be
-- refused get a revision, so that they can still be put aside, and go as they would have gone. MySQL looks at finished rows too.
UPDATE outbox SET revision = revision + 1
WHERE revision = 0 AND (status = 'PENDING' /*!80000 OR TRUE */)
  AND (/*!80000 status <> 'PENDING' OR */ max_attempts < 1 OR expires_at <= '2000-01-01'
       OR CONVERT(JSON_TYPE(payload) USING utf8mb4) COLLATE utf8mb4_bin = 'STRING'
          AND LEFT(TRIM(LEADING ' ' FROM JSON_UNQUOTE(payload)), 1) IN ('{', '['));

-- What JSON_TYPE gives has a collation of its own on MariaDB, and literals that of the session: one is named here.
-- MariaDB reads the whole table where it is to check the rows that are there.
SET @outbox_checks = NULL /*M! , SESSION check_constraint_checks = 0 */;
SET @outbox_checks = IF(
    (SELECT COUNT(*) FROM information_schema.table_constraints
     WHERE table_schema = DATABASE() AND table_name = 'outbox' AND constraint_name = 'outbox_born_pending') > 0,
    'DO 0',
    'ALTER TABLE outbox
         ADD CONSTRAINT outbox_born_pending CHECK (status = ''PENDING'' OR revision > 0),
         ADD CONSTRAINT outbox_max_attempts_of_1_or_more CHECK (max_attempts >= 1 OR revision > 0),
         ADD CONSTRAINT outbox_expires_at_after_2000 CHECK (expires_at > ''2000-01-01'' OR revision > 0),
         ADD CONSTRAINT outbox_payload_encoded_twice
             CHECK (CONVERT(JSON_TYPE(payload) USING utf8mb4) COLLATE utf8mb4_bin <> ''STRING'' OR revision > 0
                    OR LEFT(TRIM(LEADING '' '' FROM JSON_UNQUOTE(payload)), 1) NOT IN (''{'', ''[''))');
PREPARE outbox_checks FROM @outbox_checks;
EXECUTE outbox_checks;
DEALLOCATE PREPARE outbox_checks;
SET @outbox_checks = NULL /*M! , SESSION check_constraint_checks = DEFAULT */;

-- The columns that are the application's. It shows no row to anybody, so whoever may write it can also be granted to read it:
-- tools that read back what they wrote (RETURNING of MariaDB) can. Without times: tools write them by the clock of their zone, and
-- a DATETIME keeps no zone. outbox_enqueue takes delay and expiry in seconds.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW outbox_new AS
    SELECT id, idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, traceparent,
           tracestate
    FROM outbox WHERE 1 = 0;

DROP PROCEDURE IF EXISTS outbox_enqueue;
DELIMITER //
-- One message, in the caller's transaction: p_id is its id, or NULL where the key is known already. p_options is NULL, or a
-- JSON object of any of headers, ordering_key, priority, delay_seconds, expires_seconds, max_attempts, traceparent,
-- tracestate, tenant and tags (columns of 0004 and 0008). Delay and expiry are seconds from now, so no time zone matters. It acts with the rights of whoever made it.
CREATE PROCEDURE outbox_enqueue(
    IN p_channel varchar(64) CHARACTER SET utf8mb4, IN p_target text CHARACTER SET utf8mb4,
    IN p_payload longtext CHARACTER SET utf8mb4, IN p_idempotency_key varchar(255) CHARACTER SET utf8mb4,
    IN p_options longtext CHARACTER SET utf8mb4, OUT p_id bigint)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE options longtext CHARACTER SET utf8mb4 DEFAULT COALESCE(p_options, '{}');
    DECLARE problem text CHARACTER SET utf8mb4;
    DECLARE headers longtext CHARACTER SET utf8mb4 DEFAULT NULLIF(JSON_EXTRACT(options, '$.headers'), 'null');
    DECLARE tags longtext CHARACTER SET utf8mb4 DEFAULT NULLIF(JSON_EXTRACT(options, '$.tags'), 'null');
    DECLARE priority integer DEFAULT COALESCE(JSON_VALUE(options, '$.priority'), 0);
    DECLARE available_at datetime(6) DEFAULT UTC_TIMESTAMP(6)
        + INTERVAL COALESCE(JSON_VALUE(options, '$.delay_seconds'), 0) * 1000000 MICROSECOND;
    DECLARE expires_at datetime(6) DEFAULT UTC_TIMESTAMP(6)
        + INTERVAL JSON_VALUE(options, '$.expires_seconds') * 1000000 MICROSECOND;
    DECLARE known boolean DEFAULT FALSE;
    -- A known key undoes the statement that meets it, and nothing else of the transaction.
    DECLARE CONTINUE HANDLER FOR 1062 SET known = TRUE;

    IF p_options IS NOT NULL THEN
        SET problem = (
            SELECT CONCAT('outbox_enqueue knows no option ', GROUP_CONCAT(asked.name))
            FROM JSON_TABLE(COALESCE(JSON_KEYS(options), '["(not an object)"]'), '$[*]' COLUMNS (
                name varchar(255) CHARACTER SET utf8mb4 PATH '$')) asked
            WHERE asked.name NOT IN ('headers', 'ordering_key', 'priority', 'delay_seconds', 'expires_seconds', 'max_attempts',
                                     'traceparent', 'tracestate', 'tenant', 'tags'));
    END IF;
    -- MySQL keeps numbers of JSON in 64 bits and rounds the rest; MariaDB keeps their text. Strings are left out of the look.
    /*!80000 IF REGEXP_REPLACE(p_payload, '"([^"\\\\]++|\\\\.)*+"', '') REGEXP
            '(19|[2-9][0-9])[0-9]{18}|[0-9]{21}|(?=[0-9.]{19})[0-9]+[.][0-9]+' THEN
        SET problem = 'outbox_enqueue: MySQL would round a number of the payload; write it as a string';
    END IF; */
    IF problem IS NOT NULL THEN
        SET problem = LEFT(problem, 128);
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
    END IF;

    -- The column has no default that an expression could name.
    IF p_idempotency_key IS NULL THEN
        INSERT INTO outbox (channel, target, payload, headers, ordering_key, priority, available_at, expires_at,
                            max_attempts, traceparent, tracestate, tenant, tags)
        VALUES (p_channel, p_target, p_payload, headers, JSON_VALUE(options, '$.ordering_key'), priority, available_at,
                expires_at, JSON_VALUE(options, '$.max_attempts'), JSON_VALUE(options, '$.traceparent'),
                JSON_VALUE(options, '$.tracestate'), JSON_VALUE(options, '$.tenant'), tags);
    ELSE
        INSERT INTO outbox (channel, target, payload, idempotency_key, headers, ordering_key, priority, available_at,
                            expires_at, max_attempts, traceparent, tracestate, tenant, tags)
        VALUES (p_channel, p_target, p_payload, p_idempotency_key, headers, JSON_VALUE(options, '$.ordering_key'), priority,
                available_at, expires_at, JSON_VALUE(options, '$.max_attempts'), JSON_VALUE(options, '$.traceparent'),
                JSON_VALUE(options, '$.tracestate'), JSON_VALUE(options, '$.tenant'), tags);
    END IF;
    SET p_id = IF(known, NULL, LAST_INSERT_ID());
END//
DELIMITER ;

UPDATE outbox_meta SET schema_version = 2;
