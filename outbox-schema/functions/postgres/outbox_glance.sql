-- What each tenant has due, in the order in which it is to go, where more than one but few have something that waits: channels take
-- turns, and the tenants of a channel do. It takes a small part of the time of outbox_turns, and reads no more of a tenant than there
-- is room for. NULL where there are more tenants, or none has more than this brings: then outbox_turns must look.
--
-- A tenant that is a destination is passed over while that has no room. One that has a name sends to several, of which some may have
-- room: where the first of its messages has none, outbox_turns must look as well.
CREATE OR REPLACE FUNCTION outbox_glance(
    p_shard smallint, p_limit integer, p_excluded bigint[], p_channels varchar[], p_rooms integer[], p_mosts integer[],
    p_closed varchar[], p_closed_channels varchar[], p_limited varchar[], p_limits integer[], p_turn bigint,
    p_from_us bigint[], p_from_id bigint[],
    OUT ids bigint[], OUT revisions integer[], OUT priorities smallint[], OUT channels varchar[], OUT destinations varchar[],
    OUT bytes bigint[]
)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    few      CONSTANT integer := 16;
    base     bigint;
    at       bigint;
    place    varchar;
    is_named boolean;
    room     integer;
    steps    integer := 0;
    met      bigint[] := '{}';
    bases    bigint[] := '{}';
    tenants  bigint[] := '{}';
    rooms    integer[] := '{}';
    some_left boolean;
BEGIN
    FOR channel IN 1 .. cardinality(p_channels) LOOP
        CONTINUE WHEN p_channels[channel] = ANY (p_closed_channels);
        base := (hashtextextended(p_channels[channel], 0) & 32767) << 48;
        -- Channels whose names share a number share its tenants: these are looked at once.
        CONTINUE WHEN base = ANY (met);
        met := met || base;
        at := base - 1;
        LOOP
            SELECT (((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) AS number,
                   o.destination, o.tenant IS NOT NULL
            INTO at, place, is_named
            FROM outbox o
            WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL
              AND (((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) > at
              AND (((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) <= base + 281474976710655
            ORDER BY number LIMIT 1;
            EXIT WHEN at IS NULL;
            steps := steps + 1;
            room := CASE WHEN place = ANY (p_closed) THEN 0
                         ELSE least(coalesce(p_limits[array_position(p_limited, place)], p_rooms[channel]), p_mosts[channel]) END;
            IF steps > 2 * few OR cardinality(tenants) = few OR (is_named AND room = 0) THEN
                RETURN;
            END IF;
            IF room > 0 THEN
                bases := bases || base;
                tenants := tenants || at;
                rooms := rooms || CASE WHEN is_named THEN p_limit ELSE least(p_limit, room) END;
            END IF;
        END LOOP;
    END LOOP;
    IF steps < 2 THEN
        RETURN; -- with whom would it take turns?
    END IF;
    SELECT array_agg(turns.id), array_agg(turns.revision), array_agg(turns.priority), array_agg(turns.channel),
           array_agg(turns.destination), array_agg(turns.bytes), bool_or(turns.of_tenant = turns.room)
    INTO ids, revisions, priorities, channels, destinations, bytes, some_left
    FROM (
        SELECT share.*, of.room, of.base,
               row_number() OVER (
                   PARTITION BY of.base ORDER BY share.of_tenant, (of.tenant - p_turn) & 281474976710655) AS of_channel
        FROM unnest(bases, tenants, rooms) AS of(base, tenant, room) CROSS JOIN LATERAL (
            SELECT due.*, row_number() OVER (ORDER BY due.priority DESC, due.available_at, due.id) AS of_tenant
            FROM (
                SELECT start.priority, coalesce(start.id, 0) AS id,
                       coalesce(timestamptz 'epoch' + start.us * interval '1 us', '-infinity') AS at
                FROM unnest('{0,1,2,3}'::smallint[], p_from_us, p_from_id) AS start(priority, us, id)
            ) start CROSS JOIN LATERAL (
                SELECT o.id, o.revision, o.priority, o.channel, o.destination, o.available_at,
                       o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes
                FROM outbox o
                WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL
                  -- As in outbox_turns.
                  AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
                       | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)),
                       o.priority, o.available_at, o.id) > (of.tenant, start.priority, start.at, start.id)
                  AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
                       | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)),
                       o.priority, o.available_at) <= (of.tenant, start.priority, now())
                  AND o.id NOT IN (SELECT unnest(p_excluded))
                  AND o.destination NOT IN (SELECT unnest(p_closed)) AND o.channel NOT IN (SELECT unnest(p_closed_channels))
                ORDER BY (((hashtextextended(o.channel, 0) & 32767) << 48)
                          | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)),
                         o.priority, o.available_at, o.id LIMIT of.room) due
            ORDER BY due.priority DESC, due.available_at, due.id LIMIT of.room) share
        ORDER BY of_channel, (of.base - p_turn) & 281474976710655
    ) turns;
    IF some_left IS NOT TRUE THEN
        ids := NULL;
    END IF;
END
$$;
