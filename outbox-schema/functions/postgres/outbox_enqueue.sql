-- One message, in the caller's transaction: its id, or NULL where the key is known already. Delay and expiry are seconds from
-- now, so no time zone matters. It acts with the rights of the tables' owner. So it finds nothing by the caller's search_path
-- but what PostgreSQL itself brings, and names the rest by its schema.
DO $migration$
DECLARE
    parameters CONSTANT text :=
        'p_idempotency_key varchar DEFAULT NULL, p_headers jsonb DEFAULT NULL, p_ordering_key varchar DEFAULT NULL,
         p_priority integer DEFAULT NULL, p_delay_seconds double precision DEFAULT NULL,
         p_expires_seconds double precision DEFAULT NULL, p_max_attempts integer DEFAULT NULL,
         p_traceparent varchar DEFAULT NULL, p_tracestate varchar DEFAULT NULL, p_tenant varchar DEFAULT NULL,
         p_tags jsonb DEFAULT NULL';
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
                                         available_at, expires_at, max_attempts, traceparent, tracestate, tenant,
                                         tags)
                VALUES (p_channel, p_target, p_payload::jsonb, coalesce(p_idempotency_key, %1$I.outbox_new_key()), p_headers,
                        p_ordering_key, coalesce(p_priority, 0), now() + coalesce(p_delay_seconds, 0) * interval '1 s',
                        now() + p_expires_seconds * interval '1 s', p_max_attempts, p_traceparent, p_tracestate,
                        p_tenant, p_tags)
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
                   varchar, varchar, varchar, jsonb),
    outbox_enqueue(varchar, text, text, varchar, jsonb, varchar, integer, double precision, double precision, integer,
                   varchar, varchar, varchar, jsonb)
    FROM PUBLIC;
