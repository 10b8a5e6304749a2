-- Of what a walk came by, in its order: what there is room for, by destination and in bytes; the rows of unknown channels apart.
-- Each number in `nths` is a row's place among those of its priority that the walk came by.
CREATE OR REPLACE FUNCTION outbox_fit(
    p_ids bigint[], p_revisions integer[], p_priorities smallint[], p_due_channels varchar[], p_destinations varchar[],
    p_bytes integer[], p_channels varchar[], p_timeouts_ms bigint[], p_rooms integer[], p_mosts integer[],
    p_limited varchar[], p_limits integer[], p_max_bytes bigint, p_oversize boolean,
    OUT ids bigint[], OUT revisions integer[], OUT nths integer[], OUT longest bigint, OUT met bigint[]
)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    WITH due AS (
        SELECT * FROM unnest(p_ids, p_revisions, p_priorities, p_due_channels, p_destinations, p_bytes) WITH ORDINALITY
                      AS due(id, revision, priority, channel, destination, payload_bytes, turn)
    ), known AS (
        SELECT due.*, channel.timeout_ms, least(coalesce(limited.room, channel.room), channel.most) AS room,
               row_number() OVER (PARTITION BY due.destination ORDER BY due.turn) AS place_there
        FROM due
        JOIN unnest(p_channels, p_timeouts_ms, p_rooms, p_mosts) AS channel(name, timeout_ms, room, most)
          ON channel.name = due.channel
        LEFT JOIN unnest(p_limited, p_limits) AS limited(destination, room)
               ON limited.destination = due.destination
    ), sendable AS (
        SELECT known.*, row_number() OVER walk AS place, sum(known.payload_bytes) OVER walk AS bytes_so_far
        FROM known WHERE known.place_there <= known.room
        WINDOW walk AS (ORDER BY known.turn ROWS UNBOUNDED PRECEDING)
    ), fitting AS (
        SELECT * FROM sendable WHERE bytes_so_far <= p_max_bytes OR (place = 1 AND p_oversize)
        ORDER BY turn -- as they come from the window: nothing is sorted again
    )
    -- Those of one priority have their turns one after the other.
    SELECT array_agg(fitting.id), array_agg(fitting.revision),
           array_agg(fitting.turn::integer - array_position(p_priorities, fitting.priority) + 1), max(fitting.timeout_ms),
           (SELECT array_agg(due.id) FROM due WHERE due.channel <> ALL (p_channels))
    INTO ids, revisions, nths, longest, met
    FROM fitting;
END
$$;
