-- Looks at what is due behind a place of each priority, and claims it at once where that is no more than p_up_to rows: one
-- round trip for a poller that idles. It knows no rule: the poller chooses p_up_to so that none can be broken. Rows of p_known
-- and of these lanes (p_not_of) are passed over. What is not claimed is shown, with what decides when it goes.
--
-- Most looks find nothing. Those write nothing, not even a lock.
CREATE OR REPLACE FUNCTION outbox_look_and_claim(
    p_shard smallint, p_epoch bigint, p_holder varchar, p_claim uuid, p_at timestamptz[], p_id bigint[], p_limit bigint,
    p_known bigint[], p_not_of_channels varchar[], p_not_of_tenants varchar[], p_up_to bigint,
    p_channels varchar[], p_most_bytes bigint[], p_halting varchar[], p_at_most_once varchar[],
    p_timeout_ms bigint, p_margin_ms bigint, p_ttl_ms bigint
) RETURNS TABLE (
    claimed boolean, id bigint, revision integer, priority smallint, available_at timestamptz, channel varchar, tenant varchar,
    destination varchar, ordering_key varchar, bytes bigint, idempotency_key varchar, target text, too_large boolean, payload jsonb,
    headers jsonb, attempts smallint, max_attempts smallint, expires_at timestamptz, first_attempt_at timestamptz,
    created_at timestamptz, deadline_ms integer, traceparent varchar, tracestate varchar, place bigint
)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    leads        boolean;
    made         boolean;
    ids          bigint[];
    revisions    integer[];
    priorities   smallint[];
    ats          timestamptz[];
    channels     varchar[];
    tenants      varchar[];
    destinations varchar[];
    sizes        bigint[];
BEGIN
    PERFORM outbox_fresh_plans();
    SELECT EXISTS (SELECT FROM outbox_term t WHERE t.shard = p_shard AND t.epoch = p_epoch AND t.holder = p_holder),
           EXISTS (SELECT FROM outbox_claim c WHERE c.id = p_claim)
    INTO leads, made;
    IF NOT leads THEN
        PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
    END IF;
    IF NOT made THEN -- else the answer to the first call was lost
        SELECT array_agg(o.id), array_agg(o.revision), array_agg(o.priority), array_agg(o.available_at), array_agg(o.channel),
               array_agg(o.tenant), array_agg(o.destination), array_agg(o.bytes)
        INTO ids, revisions, priorities, ats, channels, tenants, destinations, sizes
        FROM unnest('{3,2,1,0}'::smallint[], p_at, p_id) AS behind(priority, at, id) CROSS JOIN LATERAL (
            SELECT o.id, o.revision, o.priority, o.available_at, o.channel, o.tenant, o.destination,
                   o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes
            FROM outbox o
            WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = behind.priority
              AND o.available_at <= now() AND (o.available_at, o.id) > (behind.at, behind.id)
              -- Hashed once; the elements of an array would be compared one by one.
              AND o.id NOT IN (SELECT unnest(p_known))
              AND (o.channel, coalesce(o.tenant, o.destination))
                  NOT IN (SELECT lane.channel, lane.tenant FROM unnest(p_not_of_channels, p_not_of_tenants) AS lane(channel, tenant))
            ORDER BY o.available_at, o.id LIMIT p_limit
        ) o;
        IF ids IS NULL THEN
            RETURN;
        END IF;
    END IF;
    IF made OR cardinality(ids) <= p_up_to THEN
        RETURN QUERY
        WITH claim AS MATERIALIZED (
            SELECT * FROM outbox_claim_rows(p_shard, p_epoch, p_holder, p_claim, ids, revisions, p_channels, p_most_bytes, p_halting,
                                            p_at_most_once, p_timeout_ms, p_margin_ms, p_ttl_ms)
        )
        SELECT * FROM claim
        UNION ALL
        SELECT false, o.id, o.revision, o.priority, o.at, o.channel, o.tenant, o.destination, NULL, o.bytes, '', '', false, NULL, NULL,
               0::smallint, NULL::smallint, NULL, NULL, now(), NULL, NULL, NULL, o.place
        FROM unnest(ids, revisions, priorities, ats, channels, tenants, destinations, sizes) WITH ORDINALITY
             AS o(id, revision, priority, at, channel, tenant, destination, bytes, place)
        WHERE o.id NOT IN (SELECT claim.id FROM claim);
    ELSE
        RETURN QUERY
        SELECT false, o.id, o.revision, o.priority, o.at, o.channel, o.tenant, o.destination, NULL::varchar, o.bytes, ''::varchar, '',
               false, NULL::jsonb, NULL::jsonb, 0::smallint, NULL::smallint, NULL::timestamptz, NULL::timestamptz, now(),
               NULL::integer, NULL::varchar, NULL::varchar, o.place
        FROM unnest(ids, revisions, priorities, ats, channels, tenants, destinations, sizes) WITH ORDINALITY
             AS o(id, revision, priority, at, channel, tenant, destination, bytes, place);
    END IF;
END
$$;
-- Whoever may lead may do this as well, also where a role of before may execute no function that is new.
DO $$
DECLARE
    dispatcher regrole;
BEGIN
    FOR dispatcher IN
        SELECT DISTINCT acl.grantee::regrole FROM pg_proc p, aclexplode(p.proacl) acl
        WHERE p.oid = 'outbox_begin_term'::regproc AND acl.privilege_type = 'EXECUTE' AND acl.grantee NOT IN (0, p.proowner)
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION outbox_claim_rows, outbox_look_and_claim TO %s', dispatcher);
    END LOOP;
END
$$;
