-- What the customer knows of a message, so that people find it: an order, a device.

ALTER TABLE outbox
    -- A JSON object of short texts. No claim reads it.
    ADD tags jsonb,
    -- As the checks of 0002, for rows as they are born. `order=4711` names a tag, so no name holds an equals sign. Regular expressions
    -- take ten times as long as the rest, so they look at long tags only.
    ADD CONSTRAINT outbox_tags_of_16_short_texts
        CHECK (revision > 0 OR tags IS NULL
               OR CASE
                      WHEN jsonb_typeof(tags) <> 'object' OR tags -> '' IS NOT NULL
                           OR jsonb_array_length(jsonb_path_query_array(tags, 'strict $.*')) > 16
                           OR jsonb_path_exists(tags, 'strict $.* ? (@.type() != "string")') THEN false
                      WHEN length(tags::text) <= 64 AND strpos(tags::text, '=') = 0 THEN true
                      ELSE NOT jsonb_path_exists(
                               tags, 'strict $.keyvalue().key ? (!(@ like_regex "^[^=]{1,64}$" flag "s"))')
                           AND (length(tags::text) <= 255
                                OR NOT jsonb_path_exists(tags, 'strict $.* ? (!(@ like_regex "^.{0,255}$" flag "s"))'))
                  END) NOT VALID;

-- A row without tags has no entry: its insert and its marks cost nothing more. What a transaction adds goes to a list first, which is
-- short, so that whoever fills it up waits some milliseconds.
CREATE INDEX outbox_tags ON outbox USING gin (tags jsonb_path_ops) WITH (gin_pending_list_limit = 256) WHERE tags IS NOT NULL;

CREATE OR REPLACE VIEW outbox_new AS
    SELECT id, idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, available_at,
           expires_at, traceparent, tracestate, created_at, tenant, tags
    FROM outbox WHERE false;

UPDATE outbox_meta SET schema_version = 8, serves_from = 2;
