-- Claim due rows: one claim row for the whole batch, committed before any of them is sent. Rows of closed destinations and
-- channels are passed over, and of each other destination no more are taken than there is room for. Rows of unknown
-- channels that the walk meets are moved out of its way; they are returned as well. The rows are read here, not by the
-- caller's statement: its snapshot may be older than the walk's.
--
-- p_from_us and p_from_id say for each priority, 0 to 3, behind which row the walk begins; NULL is the beginning. It is a
-- hint, that spares the walk the index entries of rows that are done, which a snapshot held open elsewhere keeps
-- there. What became due behind it is found by walks from the beginning, which the caller makes now and then.
--
-- p_turn is NULL where nothing is backed up. Else tenants take turns: see outbox_turns. Of each priority the first row that the
-- walk met and left is then returned as well: the next walk need not begin before it. Where p_tenants is 0, and few tenants have
-- something that waits, and no ordering key has, there is no walk: see outbox_glance. What it brings has no place among what a walk
-- came by. Else p_tenants 0 is 256.
--
-- p_strangers and p_strangers_bytes are the room of all destinations together that are neither limited nor closed here. Where
-- they want more than that, and p_ask, nothing is claimed: the caller is told what was found, and chooses. See outbox_take_found.
--
-- p_keys_from and p_keys_until say of which ordering keys the heads are looked at, by their numbers: of the first 512 of them. The
-- next one, if any, is returned as well, as left. Then the keys of the 512 newest rows are looked at too.
--
-- Most polls find nothing. Those write nothing: the term is locked only once there is something to claim.
--
-- Each statement here has a cost of its own, for each node of its plan, however few rows there are: so the heads of ordering
-- keys are looked for, turns are taken, and what there is too much of is counted off row by row, in statements that only those
-- pay for who need them.
CREATE OR REPLACE FUNCTION outbox_take(
    p_shard smallint, p_epoch bigint, p_holder varchar, p_claim uuid,
    p_limit integer, p_max_bytes bigint, p_excluded bigint[],
    p_channels varchar[], p_timeouts_ms bigint[], p_rooms integer[], p_mosts integer[], p_most_bytes bigint[], p_halting varchar[],
    p_unfair varchar[], p_at_most_once varchar[],
    p_closed varchar[], p_closed_channels varchar[], p_limited varchar[], p_limits integer[],
    p_strangers integer, p_strangers_bytes bigint, p_ask boolean, p_turn bigint, p_tenants integer,
    p_served_channels varchar[], p_served varchar[],
    p_unknown_ms bigint, p_ttl_ms bigint, p_margin_ms bigint, p_from_us bigint[], p_from_id bigint[],
    p_keys_from bigint, p_keys_until bigint
) RETURNS SETOF outbox_taken
LANGUAGE plpgsql
-- The walk must follow the index that ends at its LIMIT, also before the table has been analysed: no other is to be sorted. So there is
-- but one plan to choose: to plan anew for the arguments of each call took as long as the walk.
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    leads        boolean;
    made         boolean;
    -- Held until this claim has committed: whoever is to cancel waits for that. Not had: a cancellation is open.
    undisturbed  boolean;
    keyed        boolean;
    heads        bigint[];
    -- Behind those.
    next_channel varchar;
    next_key     varchar;
    -- What the walk came by, first to go first; then, of that, what is claimed.
    ids          bigint[];
    revisions    integer[];
    priorities   smallint[];
    channels     varchar[];
    destinations varchar[];
    bytes        bigint[];
    tenants      bigint[];
    ats          timestamptz[];
    walked       bigint[];
    of_walked    smallint[];
    -- Whether the destinations of which nothing is said want more than they may get.
    crowded      boolean;
    seen         bigint[];
    nths         integer[];
    places       integer[];
    -- Of unknown channels.
    met          bigint[];
    free         bigint[];
    in_turns     boolean;
    glances      boolean;
    -- How many rows of each priority a walk passes. NULL: any number.
    most         integer;
    -- How many of those are counted.
    upto         integer;
    alone        boolean;
    all_fit      boolean;
    longest      bigint;
BEGIN
    PERFORM outbox_fresh_plans();
    SELECT EXISTS (SELECT FROM outbox_term WHERE shard = p_shard AND epoch = p_epoch AND holder = p_holder),
           EXISTS (SELECT FROM outbox_claim WHERE id = p_claim),
           pg_try_advisory_xact_lock(outbox_cancelling(p_shard)),
           EXISTS (SELECT FROM outbox WHERE shard = p_shard AND status = 'PENDING' AND ordering_key IS NOT NULL)
    INTO leads, made, undisturbed, keyed;
    IF made OR NOT leads THEN
        PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
    END IF;
    IF made THEN -- the answer to the first call was lost
        RETURN QUERY SELECT o.*
        FROM outbox_claim c, outbox_taken_rows(c.message_ids, c.revisions, p_channels, p_most_bytes, false, NULL) o
        WHERE c.id = p_claim;
        RETURN;
    END IF;

    glances := (p_tenants = 0) IS TRUE AND undisturbed AND NOT keyed AND p_unfair = '{}' AND cardinality(p_closed) < 64;
    p_tenants := CASE p_tenants WHEN 0 THEN 256 ELSE p_tenants END;
    -- There may be any number of rows that are on hold. Where turns find what is behind them, no walk passes over all.
    most := CASE WHEN p_turn IS NOT NULL AND p_unfair = '{}' AND cardinality(p_closed) + cardinality(p_closed_channels) > 0
                 THEN 4096 + cardinality(p_excluded) END;
    IF glances THEN
        SELECT glance.* INTO ids, revisions, priorities, channels, destinations, bytes
        FROM outbox_glance(p_shard, p_limit, p_excluded, p_channels, p_rooms, p_mosts, p_closed, p_closed_channels, p_limited,
                           p_limits, p_turn, p_from_us, p_from_id) glance;
        glances := ids IS NOT NULL;
    END IF;
    LOOP
        IF NOT glances THEN
            IF keyed THEN
                WITH looked AS MATERIALIZED (
                    -- Stepping from key to key ends at this limit. So whatever passes over heads comes behind it.
                    SELECT o.*, row_number() OVER () AS place
                    FROM (SELECT * FROM outbox_ordered_heads(p_shard, '{}', p_keys_from, p_keys_until) LIMIT 513) o
                ), newest AS MATERIALIZED (
                    -- Where a claim does not look at all keys, it looks at those of the newest rows too: whoever writes for a new key
                    -- does not wait until all others had their turns.
                    SELECT o.*
                    FROM (SELECT n.id, n.shard, n.status, n.channel, n.ordering_key, n.destination, n.priority, n.available_at,
                                 n.first_attempt_at
                          FROM outbox n WHERE EXISTS (SELECT FROM looked WHERE looked.place > 512)
                          ORDER BY n.id DESC LIMIT 512) o
                    WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NOT NULL AND o.first_attempt_at IS NULL
                      -- The first of its key, as a step in the index of keys finds it.
                      AND o.id = (
                        SELECT head.id FROM outbox head
                        WHERE head.shard = p_shard AND head.status = 'PENDING' AND head.ordering_key IS NOT NULL
                          AND hashtextextended(head.ordering_key, hashtextextended(head.channel, 0))
                              >= hashtextextended(o.ordering_key, hashtextextended(o.channel, 0))
                        ORDER BY hashtextextended(head.ordering_key, hashtextextended(head.channel, 0)), head.id LIMIT 1)
                )
                SELECT (SELECT array_agg(head.id)
                        FROM (SELECT o.id
                              FROM (SELECT id, channel, ordering_key, destination, priority, available_at FROM looked WHERE place <= 512
                                    UNION
                                    SELECT id, channel, ordering_key, destination, priority, available_at FROM newest) o
                              WHERE o.available_at <= now()
                                AND o.destination <> ALL (p_closed) AND o.channel <> ALL (p_closed_channels)
                                -- A key with a row in flight has its turn: a redriven row of it that goes before waits for that one.
                                AND (o.channel, o.ordering_key) NOT IN (
                                  SELECT x.channel, x.ordering_key FROM outbox x
                                  WHERE x.id = ANY (p_excluded) AND x.ordering_key IS NOT NULL)
                                AND (o.channel <> ALL (p_halting) OR NOT EXISTS (
                                  SELECT FROM outbox dead
                                  WHERE dead.shard = p_shard AND dead.channel = o.channel AND dead.ordering_key = o.ordering_key
                                    AND dead.id < o.id AND dead.status = 'DEAD' AND dead.dead_reason IS DISTINCT FROM 'cancelled'))
                              ORDER BY o.priority DESC, o.available_at, o.id
                              -- In turns all of them are wanted.
                              LIMIT CASE WHEN p_turn IS NULL THEN p_limit END) head),
                       (SELECT o.channel FROM looked o WHERE o.place > 512),
                       (SELECT o.ordering_key FROM looked o WHERE o.place > 512)
                INTO heads, next_channel, next_key;
                IF next_key IS NOT NULL THEN
                    RETURN QUERY
                    SELECT (ROW('left', 0, 0, '', next_channel, '', '', 0, false, NULL, NULL, 0, NULL, NULL, NULL, now(),
                                next_key, NULL, NULL, NULL, 0, NULL, false, NULL, NULL)::outbox_taken).*;
                END IF;
            END IF;
            SELECT array_agg(due.id), array_agg(due.revision), array_agg(due.priority), array_agg(due.channel),
                   array_agg(due.destination), array_agg(due.bytes),
                   CASE WHEN p_turn IS NOT NULL THEN array_agg(due.tenant) END,
                   array_agg(due.available_at)
            INTO ids, revisions, priorities, channels, destinations, bytes, tenants, ats
            FROM (
                SELECT branches.* FROM (
                    -- A branch for each priority, each ended by its LIMIT: sorting by priority would read the backlog.
                    SELECT branch.* FROM (
                        SELECT start.priority, coalesce(start.id, 0) AS id,
                               coalesce(timestamptz 'epoch' + start.us * interval '1 us', '-infinity') AS at
                        FROM unnest('{0,1,2,3}'::smallint[], p_from_us, p_from_id) AS start(priority, us, id)
                    ) of CROSS JOIN LATERAL (
                        SELECT o.id, o.revision, o.channel, o.destination, o.priority, o.available_at,
                               CASE WHEN p_turn IS NOT NULL THEN hashtextextended(coalesce(o.tenant, o.destination), 0) END AS tenant,
                               o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes
                        FROM (
                            SELECT o.id, o.revision, o.channel, o.destination, o.priority, o.available_at, o.tenant, o.payload_bytes,
                                   o.target, o.headers
                            FROM outbox o
                            WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL
                              AND o.priority = of.priority AND o.available_at <= now()
                              AND (o.available_at, o.id) > (of.at, of.id)
                            ORDER BY o.available_at, o.id LIMIT most) o
                        -- Hashed once; the elements of an array would be compared one by one.
                        WHERE o.id NOT IN (SELECT unnest(p_excluded))
                          AND o.destination NOT IN (SELECT unnest(p_closed))
                          AND o.channel NOT IN (SELECT unnest(p_closed_channels))
                        ORDER BY o.available_at, o.id LIMIT p_limit) branch
                    UNION ALL
                    SELECT o.id, o.revision, o.channel, o.destination, o.priority, o.available_at,
                           CASE WHEN p_turn IS NOT NULL THEN hashtextextended(coalesce(o.tenant, o.destination), 0) END AS tenant,
                           o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes
                    FROM outbox o WHERE o.id = ANY (heads) AND o.status = 'PENDING' AND o.available_at <= now()
                ) branches ORDER BY branches.priority DESC, branches.available_at, branches.id
                LIMIT CASE WHEN p_turn IS NULL THEN p_limit END) due;
            IF ids IS NULL AND most IS NULL THEN
                RETURN; -- nothing is due, and nothing was written: not even a lock
            END IF;
        END IF;
        in_turns := glances;
        upto := CASE WHEN glances THEN least(p_limit, cardinality(ids)) ELSE cardinality(ids) END;
        LOOP
            -- There is room for all of it, each destination having one channel, and it is not too large.
            SELECT bool_and(coalesce(
                       crowd.rows <= least(coalesce(limited.room, channel.room), channel.most) AND crowd.channel = crowd.other
                       AND crowd.largest <= channel.most_bytes, false))
                   AND sum(crowd.bytes) <= p_max_bytes
                   AND coalesce(sum(crowd.rows) FILTER (WHERE limited.destination IS NULL) <= p_strangers
                                AND sum(crowd.bytes) FILTER (WHERE limited.destination IS NULL) <= p_strangers_bytes, true),
                   max(channel.timeout_ms),
                   coalesce(sum(least(crowd.rows, channel.room))
                                FILTER (WHERE limited.destination IS NULL AND channel.name IS NOT NULL) > p_strangers
                            OR sum(crowd.bytes)
                                FILTER (WHERE limited.destination IS NULL AND channel.name IS NOT NULL) > p_strangers_bytes, false)
            INTO all_fit, longest, crowded
            FROM (
                SELECT due.destination, min(due.channel) AS channel, max(due.channel) AS other, count(*) AS rows,
                       sum(due.bytes) AS bytes, max(due.bytes) AS largest
                FROM unnest(channels[1:upto], destinations[1:upto], bytes[1:upto]) AS due(channel, destination, bytes)
                GROUP BY due.destination
            ) crowd
            LEFT JOIN unnest(p_channels, p_timeouts_ms, p_rooms, p_mosts, p_most_bytes)
                      AS channel(name, timeout_ms, room, most, most_bytes) ON channel.name = crowd.channel
            LEFT JOIN unnest(p_limited, p_limits) AS limited(destination, room) ON limited.destination = crowd.destination;
            -- Where there is room for those whose turn is first, they need not be counted off.
            IF in_turns AND NOT all_fit AND upto > p_limit AND NOT (p_ask AND crowded) THEN
                upto := p_limit;
                CONTINUE;
            END IF;
            -- Turns are taken where something is left: there is no room for it, or the walk brought as much as it may.
            EXIT WHEN in_turns OR p_turn IS NULL OR (all_fit AND cardinality(ids) < p_limit AND most IS NULL);
            -- With whom would the one tenant there is take turns?
            SELECT first.number = last.number INTO alone
            FROM (SELECT (((hashtextextended(o.channel, 0) & 32767) << 48)
                          | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) AS number
                  FROM outbox o WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL
                  ORDER BY number LIMIT 1) first,
                 (SELECT (((hashtextextended(o.channel, 0) & 32767) << 48)
                          | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) AS number
                  FROM outbox o WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NULL
                  ORDER BY number DESC LIMIT 1) last;
            EXIT WHEN alone AND heads IS NULL AND all_fit AND most IS NULL;
            in_turns := true;
            walked := ids;
            of_walked := priorities;
            SELECT turns.* INTO ids, revisions, priorities, channels, destinations, bytes, places
            FROM outbox_turns(p_shard, ids, revisions, priorities, channels, destinations, bytes, tenants, ats, p_limit, p_excluded,
                              p_channels, p_unfair, p_closed, p_closed_channels,
                              ARRAY(SELECT name FROM unnest(p_limited, p_limits) AS limited(name, room) WHERE room > 0),
                              p_turn, p_tenants, p_served_channels, p_served, p_from_us, p_from_id) turns;
            IF ids IS NULL THEN
                RETURN;
            END IF;
            upto := cardinality(ids);
        END LOOP;
        IF glances AND NOT all_fit THEN
            glances := false;
            CONTINUE;
        END IF;
        seen := ids;
        IF p_ask AND crowded THEN
            RETURN QUERY
            SELECT (ROW('asked', due.id, due.revision, '', due.channel, '', due.destination, due.bytes, false, NULL, NULL, 0, NULL, NULL,
                        NULL, now(), CASE WHEN due.id IN (SELECT unnest(heads)) THEN '' END, NULL, NULL, NULL, due.priority,
                        CASE WHEN in_turns THEN found.at ELSE due.at END, false,
                        CASE WHEN in_turns THEN due.nth ELSE due.turn END, due.turn)::outbox_taken).*
            FROM unnest(ids, revisions, channels, destinations, bytes, priorities, ats, CASE WHEN in_turns THEN places END)
                 WITH ORDINALITY AS due(id, revision, channel, destination, bytes, priority, at, nth, turn)
            LEFT JOIN unnest(walked, CASE WHEN in_turns THEN ats END) AS found(id, at) ON found.id = due.id
            WHERE due.id IS NOT NULL;
            RETURN;
        END IF;
        IF NOT all_fit OR in_turns THEN
            IF all_fit THEN
                ids := ids[1:p_limit];
                revisions := revisions[1:p_limit];
                nths := places[1:p_limit];
            ELSE
                SELECT fit.* INTO ids, revisions, nths, longest, met
                FROM outbox_fitting(ids, revisions, priorities, channels, destinations, bytes, CASE WHEN in_turns THEN places END,
                                    p_channels, p_timeouts_ms, p_rooms, p_mosts, p_most_bytes, p_limited, p_limits, p_limit,
                                    p_max_bytes, p_strangers, p_strangers_bytes) fit;
            END IF;
            all_fit := false;
            IF in_turns AND undisturbed AND NOT glances THEN
                RETURN QUERY
                SELECT (ROW('left', first.id, 0, '', '', '', '', 0, false, NULL, NULL, 0, NULL, NULL, NULL, now(),
                            NULL, NULL, NULL, NULL, first.priority, first.at, false, NULL, NULL)::outbox_taken).*
                FROM (SELECT DISTINCT ON (due.priority) due.*
                      FROM unnest(walked, of_walked, ats) WITH ORDINALITY AS due(id, priority, at, place)
                      WHERE due.id NOT IN (SELECT unnest(ids)) AND due.id NOT IN (SELECT unnest(heads))
                      ORDER BY due.priority, due.place) first;
            END IF;
            IF ids IS NULL AND met IS NULL THEN
                RETURN; -- there is no room for what is due
            END IF;
        END IF;
        EXIT WHEN undisturbed;
        all_fit := false; -- some of these may be left
        nths := NULL;
        -- A row that is being cancelled is locked, and left alone; one that is locked here is not cancelled before this
        -- claim has committed, and then no more. Only now, because these locks are written to disk; and the term's first.
        PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
        EXIT WHEN ids IS NULL;
        SELECT array_agg(o.id) INTO free
        FROM (SELECT o.id FROM unnest(seen) AS s(id) JOIN outbox o ON o.id = s.id AND o.status = 'PENDING'
              FOR SHARE OF o SKIP LOCKED) o;
        SELECT array_agg(o.id ORDER BY place), array_agg(o.revision ORDER BY place) INTO ids, revisions
        FROM unnest(ids, revisions) WITH ORDINALITY AS sent(id, revision, place)
        JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
        WHERE sent.id = ANY (free);
        EXIT WHEN ids IS NOT NULL;
        -- What waits behind those that are locked is not to wait for their transaction. Where all are, the next walk begins
        -- behind them, however many that transaction holds.
        p_excluded := p_excluded || ARRAY(SELECT unnest(seen) EXCEPT SELECT unnest(free));
        IF free IS NULL THEN
            SELECT array_agg(coalesce(last.us, start.us) ORDER BY start.priority),
                   array_agg(coalesce(last.id, start.id) ORDER BY start.priority)
            INTO p_from_us, p_from_id
            FROM unnest('{0,1,2,3}'::smallint[], p_from_us, p_from_id) AS start(priority, us, id)
            LEFT JOIN LATERAL (
                SELECT round(date_part('epoch', o.available_at) * 1e6)::bigint AS us, o.id
                FROM unnest(seen) AS s(id) JOIN outbox o ON o.id = s.id
                WHERE o.priority = start.priority AND o.ordering_key IS NULL AND isfinite(o.available_at)
                ORDER BY o.available_at DESC, o.id DESC LIMIT 1) last ON true;
        END IF;
    END LOOP;

    IF ids IS NOT NULL THEN
        -- What timed out before has longer to answer. Nothing of a first revision did.
        IF 0 < ANY (revisions) THEN
            longest := greatest(longest, (SELECT max(least(o.deadline_ms, 60000)) FROM outbox o
                                          WHERE o.id = ANY (ids) AND o.deadline_ms IS NOT NULL));
        END IF;
        -- The term is locked and proven as outbox_require_term does it. What the walk found is read again under that lock,
        -- in a statement that begins after it, each row by its revision.
        INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at,
                                  settling_ms, settling_closed_ms, at_most_once)
        SELECT p_claim, p_shard, p_epoch, p_holder, ids, revisions, clock_timestamp(),
               p_ttl_ms + longest + p_margin_ms, longest + p_margin_ms, p_at_most_once
        FROM outbox_term WHERE shard = p_shard AND epoch = p_epoch AND holder = p_holder FOR SHARE;
        IF NOT FOUND THEN
            PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
        END IF;
        RETURN QUERY SELECT o.*
        FROM outbox_taken_rows(ids, revisions, p_channels, p_most_bytes, all_fit, CASE WHEN met IS NULL THEN nths END) o;
    END IF;
    IF met IS NOT NULL THEN
        PERFORM outbox_require_term(p_shard, p_epoch, p_holder);
        RETURN QUERY SELECT (ROW('deferred', o.id, o.revision, '', o.channel, '', o.destination, 0, false, NULL, NULL, 0, NULL, NULL, NULL,
                                 now(), NULL, NULL, NULL, NULL, o.priority, now(), false, NULL, NULL)::outbox_taken).*
        FROM outbox_defer_unknown(p_shard, met, p_excluded, p_channels, p_unknown_ms) o;
    END IF;
END
$$;
-- Whoever may claim may do this as well, also where a role of before may execute no function that is new.
DO $$
DECLARE
    dispatcher regrole;
BEGIN
    FOR dispatcher IN
        SELECT DISTINCT acl.grantee::regrole FROM pg_proc p, aclexplode(p.proacl) acl
        WHERE p.oid = 'outbox_claim_due'::regproc AND acl.privilege_type = 'EXECUTE' AND acl.grantee NOT IN (0, p.proowner)
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION outbox_fit, outbox_defer_unknown, outbox_take, outbox_take_found, '
            'outbox_taken_rows, outbox_turns, outbox_glance, outbox_fitting, outbox_fresh_plans TO %s', dispatcher);
    END LOOP;
END
$$;
