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

-- One message, in the caller's transaction: its id, or NULL where the key is known already. Delay and expiry are seconds from
-- now, so no time zone matters. It acts with the rights of the tables' owner. So it finds nothing by the caller's search_path
-- but what PostgreSQL itself brings, and names the rest by its schema.
DO $migration$
DECLARE
    parameters CONSTANT text :=
        'p_idempotency_key varchar DEFAULT NULL, p_headers jsonb DEFAULT NULL, p_ordering_key varchar DEFAULT NULL,
         p_priority integer DEFAULT NULL, p_delay_seconds double precision DEFAULT NULL,
         p_expires_seconds double precision DEFAULT NULL, p_max_attempts integer DEFAULT NULL,
         p_traceparent varchar DEFAULT NULL, p_tracestate varchar DEFAULT NULL';
    payload_type text;
BEGIN
    -- The payload is jsonb or its text. A parameter of no type, as drivers send texts, is taken as text.
    FOREACH payload_type IN ARRAY ARRAY['jsonb', 'text'] LOOP
        EXECUTE format(
            $function$
            CREATE OR REPLACE FUNCTION outbox_enqueue(p_channel varchar, p_target text, p_payload %2$s, %3$s) RETURNS bigint
            LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
            AS $body$
            DECLARE
                inserted bigint;
            BEGIN
                INSERT INTO %1$I.outbox (channel, target, payload, idempotency_key, headers, ordering_key, priority,
                                         available_at, expires_at, max_attempts, traceparent, tracestate)
                VALUES (p_channel, p_target, p_payload::jsonb, coalesce(p_idempotency_key, %1$I.outbox_new_key()), p_headers,
                        p_ordering_key, coalesce(p_priority, 0), now() + coalesce(p_delay_seconds, 0) * interval '1 s',
                        now() + p_expires_seconds * interval '1 s', p_max_attempts, p_traceparent, p_tracestate)
                ON CONFLICT (idempotency_key) DO NOTHING
                RETURNING id INTO inserted;
                RETURN inserted;
            END
            $body$
            $function$, current_schema(), payload_type, parameters);
    END LOOP;
END
$migration$;
REVOKE EXECUTE ON FUNCTION
    outbox_enqueue(varchar, text, jsonb, varchar, jsonb, varchar, integer, double precision, double precision, integer,
                   varchar, varchar),
    outbox_enqueue(varchar, text, text, varchar, jsonb, varchar, integer, double precision, double precision, integer,
                   varchar, varchar)
    FROM PUBLIC;

UPDATE outbox_meta SET schema_version = 2;
