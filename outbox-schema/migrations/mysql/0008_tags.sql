-- What the customer knows of a message, so that people find it: an order, a device.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- tags: a JSON object of short texts. No claim reads it. The check is as those of 0002, for rows as they are born. `order=4711`
-- names a tag, so no name holds an equals sign. A text is written as it is, or with escapes: \n, \u00fc.
-- MariaDB reads the whole table where it is to check the rows that are there.
SET @outbox_tags = NULL /*M! , SESSION check_constraint_checks = 0 */;
SET @outbox_tags = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox' AND column_name = 'tags') > 0,
    'DO 0',
    CONCAT(
        'ALTER TABLE outbox
             ADD tags json,
             ADD CONSTRAINT outbox_tags_of_16_short_texts
                 CHECK (revision > 0 OR tags IS NULL OR JSON_LENGTH(tags) <= 16
                        AND CONVERT(tags USING utf8mb4) COLLATE utf8mb4_bin REGEXP ',
        QUOTE('^\\s*+\\{\\s*+("([^"\\\\=]|\\\\.)++"\\s*+:\\s*+"([^"\\\\]|\\\\.)*+"\\s*+(,\\s*+|(?=\\})))*+\\}\\s*+$'),
        '               AND CONVERT(tags USING utf8mb4) COLLATE utf8mb4_bin NOT REGEXP ',
        QUOTE('"(?>[^"\\\\]|\\\\u.{4}|\\\\.){256}'),
        '               AND CONVERT(tags USING utf8mb4) COLLATE utf8mb4_bin NOT REGEXP ',
        QUOTE('"(?>[^"\\\\]|\\\\u.{4}|\\\\.){65,}"\\s*+:'),
        ')'));
PREPARE outbox_tags FROM @outbox_tags;
EXECUTE outbox_tags;
DEALLOCATE PREPARE outbox_tags;
SET @outbox_tags = NULL /*M! , SESSION check_constraint_checks = DEFAULT */;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW outbox_new AS
    SELECT id, idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, traceparent,
           tracestate, tenant, tags
    FROM outbox WHERE 1 = 0;

UPDATE outbox_meta SET schema_version = 8, serves_from = 2;
