-- What applications of any stack write through: a view that shows nothing, a function, and checks that name a mistake.

-- Each check binds a row as it is born: whatever decides about a row later raises its revision. Rows of before that would be
-- refused get a revision, so that they can still be put aside, and go as they would have gone.
UPDATE outbox SET revision = revision + 1
WHERE status = 'PENDING' AND revision = 0
  AND (max_attempts < 1 OR expires_at <= '2000-01-01 00:00:00+00'
       OR jsonb_typeof(payload) = 'string' AND left(ltrim(payload #>> '{}', E' \t\r\n'), 1) IN ('{', '['));

ALTER TABLE outbox
    -- A row born SUCCESS would never be sent.
    ADD CONSTRAINT outbox_born_pending CHECK (status = 'PENDING' OR revision > 0) NOT VALID,
    -- The zero values of languages without NULL.
    ADD CONSTRAINT outbox_max_attempts_of_1_or_more CHECK (max_attempts >= 1 OR revision > 0) NOT VALID,
    ADD CONSTRAINT outbox_expires_at_after_2000
        CHECK (expires_at > '2000-01-01 00:00:00+00' OR revision > 0) NOT VALID,
    -- A JSON string that holds JSON: the receiver would get the text in quotes. For channels with body = "text" that send
    -- JSON so: ALTER TABLE outbox DROP CONSTRAINT outbox_payload_encoded_twice.
    ADD CONSTRAINT outbox_payload_encoded_twice
        CHECK (jsonb_typeof(payload) <> 'string' OR revision > 0
               OR left(ltrim(payload #>> '{}', E' \t\r\n'), 1) NOT IN ('{', '[')) NOT VALID;

-- The columns that are the application's. It shows no row to anybody, so whoever may write it can also be granted to read it:
-- tools that read back what they wrote (RETURNING) can. The defaults are those of the table, for tools that look them up.
CREATE OR REPLACE VIEW outbox_new AS
    SELECT id, idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, available_at,
           expires_at, traceparent, tracestate, created_at
    FROM outbox WHERE false;
ALTER VIEW outbox_new ALTER idempotency_key SET DEFAULT outbox_new_key();
ALTER VIEW outbox_new ALTER priority SET DEFAULT 0;
ALTER VIEW outbox_new ALTER available_at SET DEFAULT now();
ALTER VIEW outbox_new ALTER created_at SET DEFAULT now();

UPDATE outbox_meta SET schema_version = 2;
