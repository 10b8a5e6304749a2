-- What a walk came by, and what of each tenant is due beside it, in the order in which it is to go: channels take turns, and the
-- tenants of a channel do. Within a tenant order is by priority and age. The rows of a channel of p_unfair count as those of one
-- tenant.
--
-- The walk brings the oldest. Of each of p_tenants tenants, found by stepping from one to the next in the index, come a few
-- more; the steps begin at the number p_turn in the stretch of each channel and go round. So it is for each of p_served, to whom
-- something was sent lately. Where not all of them send to p_open, the destinations that have answered and have room, those who do
-- have the shares of the others too. And the newest come that were never tried: whoever seldom writes is among them, however many
-- tenants there are, and however many messages of others come due again. They go first in every other claim, the newest of all
-- before the others.
--
-- What is sent to one host within a moment goes over the same connections. So of each tenant come at least eight rows, where it has
-- them. And of more than 64 tenants go first those of which so much comes: the newest come in every other claim only, and of the rows
-- that only the walk brings the oldest eight.
--
-- Which of two tenants goes first in a round is a matter of p_turn, and so another one each time: not of their priorities, since there
-- may be room for one row only, whenever this is asked.
--
-- Each number in `nths` is a row's place among those of its priority that the walk came by; NULL for the rows beside it.
CREATE OR REPLACE FUNCTION outbox_turns(
    p_shard smallint, p_walked bigint[], p_revisions integer[], p_priorities smallint[], p_walked_channels varchar[],
    p_destinations varchar[], p_bytes bigint[], p_walked_tenants bigint[], p_walked_at timestamptz[],
    p_limit integer, p_excluded bigint[], p_channels varchar[], p_unfair varchar[],
    p_closed varchar[], p_closed_channels varchar[], p_open varchar[], p_turn bigint, p_tenants integer,
    p_served_channels varchar[], p_served varchar[], p_from_us bigint[], p_from_id bigint[],
    OUT ids bigint[], OUT revisions integer[], OUT priorities smallint[], OUT channels varchar[], OUT destinations varchar[],
    OUT bytes bigint[], OUT nths integer[]
)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    WITH RECURSIVE fair AS (
        SELECT name, (hashtextextended(name, 0) & 32767) << 48 AS base
        FROM unnest(p_channels) AS name WHERE name <> ALL (p_unfair) AND name <> ALL (p_closed_channels)
    ), turn AS (
        SELECT fair.base, fair.base + p_turn AS began, false AS round, 0 AS steps, (
            SELECT (((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) AS number
            FROM outbox o
            WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL
              AND (((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) >= fair.base + p_turn
            ORDER BY number LIMIT 1) AS at
        FROM fair
        UNION ALL
        SELECT turn.base, turn.began, turn.round OR turn.at IS NULL OR turn.at > turn.base + 281474976710655, turn.steps + 1, (
            SELECT (((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) AS number
            FROM outbox o
            WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL
              AND (((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655))
                  > CASE WHEN turn.at <= turn.base + 281474976710655 THEN turn.at ELSE turn.base - 1 END
            ORDER BY number LIMIT 1)
        FROM turn
        -- Beyond the end of its stretch it goes on from the beginning of it, once.
        WHERE turn.steps < p_tenants
          AND CASE WHEN turn.round THEN turn.at < turn.began ELSE true END
    ), tenants AS MATERIALIZED (
        SELECT numbers.at, count(*) OVER (PARTITION BY numbers.at >> 48) AS of_channel
        FROM (
            SELECT turn.at FROM turn
            WHERE turn.at BETWEEN turn.base AND turn.base + 281474976710655 AND (NOT turn.round OR turn.at < turn.began)
            UNION
            SELECT fair.base | (hashtextextended(served.tenant, 0) & 281474976710655)
            FROM unnest(p_served_channels, p_served) AS served(channel, tenant) JOIN fair ON fair.name = served.channel
        ) numbers
        -- A closed destination that is its own tenant may have any number of rows: they are not read.
        WHERE numbers.at NOT IN (
            SELECT fair.base | (hashtextextended(closed.name, 0) & 281474976710655)
            FROM fair CROSS JOIN unnest(p_closed) AS closed(name))
    ), start AS MATERIALIZED (
        SELECT start.priority, coalesce(start.id, 0) AS id,
               coalesce(timestamptz 'epoch' + start.us * interval '1 us', '-infinity') AS at
        FROM unnest('{0,1,2,3}'::smallint[], p_from_us, p_from_id) AS start(priority, us, id)
        -- Most applications write one priority. The others are then not looked for with each tenant.
        WHERE EXISTS (
            SELECT FROM outbox o
            WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = start.priority
              AND o.available_at <= now()
              AND (o.available_at, o.id)
                  > (coalesce(timestamptz 'epoch' + start.us * interval '1 us', '-infinity'), coalesce(start.id, 0)))
    ), walked AS MATERIALIZED (
        SELECT * FROM unnest(p_walked, p_revisions, p_priorities, p_walked_channels, p_destinations, p_bytes, p_walked_tenants,
                             p_walked_at) WITH ORDINALITY
            AS walked(id, revision, priority, channel, destination, bytes, tenant, available_at, place)
    ), share AS MATERIALIZED (
        SELECT share.*, tenants.at
        FROM tenants CROSS JOIN start CROSS JOIN LATERAL (
            -- What is on its way already stands before the rest. One tenant and one priority are asked for as a stretch of the index of
            -- turns: as equal values, they could be looked for in the order of another index, past the rows of all others.
            SELECT o.id, o.revision, o.priority, o.channel, o.destination, o.available_at,
                   o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes,
                   hashtextextended(coalesce(o.tenant, o.destination), 0) AS tenant
            FROM outbox o
            WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL
              AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)),
                   o.priority, o.available_at, o.id) > (tenants.at, start.priority, start.at, start.id)
              AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)),
                   o.priority, o.available_at) <= (tenants.at, start.priority, now())
              AND o.id NOT IN (SELECT unnest(p_excluded))
              AND o.destination NOT IN (SELECT unnest(p_closed)) AND o.channel NOT IN (SELECT unnest(p_closed_channels))
            ORDER BY (((hashtextextended(o.channel, 0) & 32767) << 48)
                      | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority, o.available_at, o.id
            -- Channels have equal parts, and the tenants of a channel have equal parts of that.
            LIMIT greatest(8, p_limit / (SELECT count(DISTINCT tenants.at >> 48) FROM tenants) / tenants.of_channel)) share
    ), open AS MATERIALIZED (
        SELECT open.at, count(*) OVER (PARTITION BY open.at >> 48) AS of_channel
        FROM (SELECT DISTINCT share.at FROM share WHERE share.destination IN (SELECT unnest(p_open))) open
    ), late AS MATERIALIZED (
        SELECT late.*
        FROM start CROSS JOIN LATERAL (
            SELECT o.id, o.revision, o.priority, o.channel, o.destination, o.available_at,
                   o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes,
                   hashtextextended(coalesce(o.tenant, o.destination), 0) AS tenant
            FROM (
                SELECT o.* FROM (
                    -- A closed destination may have any number of the newest.
                    SELECT o.* FROM outbox o
                    WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL
                      AND o.priority = start.priority AND o.available_at <= now() AND (o.available_at, o.id) > (start.at, start.id)
                    ORDER BY o.available_at DESC, o.id DESC LIMIT 4096) o
                WHERE o.id NOT IN (SELECT unnest(p_excluded))
                  AND o.destination NOT IN (SELECT unnest(p_closed)) AND o.channel NOT IN (SELECT unnest(p_closed_channels))
                ORDER BY o.available_at DESC, o.id DESC LIMIT 512) o
            WHERE o.first_attempt_at IS NULL
            ORDER BY o.available_at DESC, o.id DESC LIMIT 64) late
        WHERE p_turn & 1 = 1 OR (SELECT count(*) FROM tenants) <= 64
        ORDER BY late.available_at DESC, late.id DESC LIMIT 64
    ), beside AS (
        SELECT share.id, share.revision, share.priority, share.channel, share.destination, share.bytes, share.tenant, share.available_at
        FROM share
        UNION ALL
        SELECT more.id, more.revision, more.priority, more.channel, more.destination, more.bytes, more.tenant, more.available_at
        FROM (SELECT open.* FROM open WHERE (SELECT count(*) FROM open) < (SELECT count(*) FROM tenants)) open
        CROSS JOIN start CROSS JOIN LATERAL (
            SELECT o.id, o.revision, o.priority, o.channel, o.destination, o.available_at,
                   o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes,
                   hashtextextended(coalesce(o.tenant, o.destination), 0) AS tenant
            FROM outbox o
            WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL
              AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)),
                   o.priority, o.available_at, o.id) > (open.at, start.priority, start.at, start.id)
              AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)),
                   o.priority, o.available_at) <= (open.at, start.priority, now())
              AND o.id NOT IN (SELECT unnest(p_excluded))
              AND o.destination NOT IN (SELECT unnest(p_closed)) AND o.channel NOT IN (SELECT unnest(p_closed_channels))
            ORDER BY (((hashtextextended(o.channel, 0) & 32767) << 48)
                      | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority, o.available_at, o.id
            LIMIT greatest(1, p_limit / (SELECT count(DISTINCT open.at >> 48) FROM open) / open.of_channel)) more
        UNION ALL
        SELECT late.id, late.revision, late.priority, late.channel, late.destination, late.bytes, late.tenant, late.available_at
        FROM late
    ), aside AS MATERIALIZED (
        -- But not the heads of ordering keys, which come with the walk alone.
        SELECT walked.id
        FROM walked JOIN fair ON fair.name = walked.channel JOIN outbox o ON o.id = walked.id
        WHERE (SELECT count(*) FROM tenants) > 64 AND o.ordering_key IS NULL
          AND (fair.base | (walked.tenant & 281474976710655)) NOT IN (SELECT tenants.at FROM tenants)
    ), met AS (
        SELECT walked.id, walked.revision, walked.priority, walked.channel, walked.destination, walked.bytes, walked.tenant,
               walked.available_at, (walked.place - first.place + 1)::integer AS nth
        FROM walked JOIN (SELECT priority, min(place) AS place FROM walked GROUP BY priority) first USING (priority)
        UNION ALL
        (SELECT DISTINCT ON (beside.id) beside.*, NULL::integer FROM beside WHERE beside.id NOT IN (SELECT id FROM walked)
         ORDER BY beside.id)
    ), due AS (
        SELECT met.*, met.available_at AS at, channel.base,
               NOT (p_turn & 1 = 1 AND met.id IN (SELECT id FROM late)) AS late,
               met.nth > 8 AND met.id IN (SELECT id FROM aside) AS aside,
               row_number() OVER (
                   -- By number, for these are compared quickly.
                   PARTITION BY channel.base, CASE WHEN channel.fair THEN met.tenant END
                   ORDER BY met.priority DESC, met.available_at, met.id) AS of_tenant
        FROM met JOIN (
            SELECT name, hashtextextended(name, 0) & 281474976710655 AS base, name <> ALL (p_unfair) AS fair
            FROM (SELECT DISTINCT met.channel AS name FROM met) names) channel ON channel.name = met.channel
    ), in_turn AS (
        SELECT due.*, row_number() OVER (
                   PARTITION BY due.base
                   ORDER BY coalesce(due.aside, false), due.of_tenant, due.late,
                            CASE WHEN due.late THEN ((due.tenant & 281474976710655) - p_turn) & 281474976710655
                                 ELSE -date_part('epoch', due.at) END, due.id) AS of_channel
        FROM due
    )
    SELECT array_agg(turns.id), array_agg(turns.revision), array_agg(turns.priority), array_agg(turns.channel),
           array_agg(turns.destination), array_agg(turns.bytes), array_agg(turns.nth)
    INTO ids, revisions, priorities, channels, destinations, bytes, nths
    FROM (SELECT in_turn.* FROM in_turn
          ORDER BY in_turn.of_channel, in_turn.late, (in_turn.base - p_turn) & 281474976710655) turns;
END
$$;
