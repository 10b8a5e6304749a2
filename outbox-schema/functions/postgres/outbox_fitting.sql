-- Of what a walk came by, in the order in which it is to go: what there is room for, by destination and in bytes; the rows of
-- unknown channels apart. What is too large for its channel counts no bytes, for it is not read. A row is a stranger's where
-- nothing is said of its destination: those share p_strangers and p_strangers_bytes.
--
-- Each number in `nths` is a row's place among those of its priority that the walk came by: p_nths where turns are taken.
CREATE OR REPLACE FUNCTION outbox_fitting(
    p_ids bigint[], p_revisions integer[], p_priorities smallint[], p_due_channels varchar[], p_destinations varchar[],
    p_bytes bigint[], p_nths integer[], p_channels varchar[], p_timeouts_ms bigint[], p_rooms integer[], p_mosts integer[],
    p_most_bytes bigint[], p_limited varchar[], p_limits integer[], p_limit integer, p_max_bytes bigint,
    p_strangers integer, p_strangers_bytes bigint,
    OUT ids bigint[], OUT revisions integer[], OUT nths integer[], OUT longest bigint, OUT met bigint[]
)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    WITH due AS (
        SELECT * FROM unnest(p_ids, p_revisions, p_priorities, p_due_channels, p_destinations, p_bytes, p_nths) WITH ORDINALITY
                      AS due(id, revision, priority, channel, destination, bytes, nth, turn)
    ), known AS (
        SELECT due.id, due.revision, due.priority, due.destination, due.nth, due.turn, channel.timeout_ms,
               CASE WHEN due.bytes <= channel.most_bytes THEN due.bytes ELSE 0 END AS bytes,
               limited.destination IS NULL AS strange,
               least(coalesce(limited.room, channel.room), channel.most) AS room,
               row_number() OVER (PARTITION BY due.destination ORDER BY due.turn) AS place_there
        FROM due
        JOIN unnest(p_channels, p_timeouts_ms, p_rooms, p_mosts, p_most_bytes)
             AS channel(name, timeout_ms, room, most, most_bytes) ON channel.name = due.channel
        LEFT JOIN unnest(p_limited, p_limits) AS limited(destination, room)
               ON limited.destination = due.destination
    ), welcome AS (
        SELECT known.*, count(*) FILTER (WHERE known.strange) OVER walk AS strangers,
               sum(known.bytes) FILTER (WHERE known.strange) OVER walk AS strangers_bytes
        FROM known WHERE known.place_there <= known.room
        WINDOW walk AS (ORDER BY known.turn ROWS UNBOUNDED PRECEDING)
    ), sendable AS (
        SELECT welcome.*, row_number() OVER walk AS place, sum(welcome.bytes) OVER walk AS bytes_so_far
        FROM welcome
        WHERE NOT welcome.strange OR (welcome.strangers <= p_strangers AND welcome.strangers_bytes <= p_strangers_bytes)
        WINDOW walk AS (ORDER BY welcome.turn ROWS UNBOUNDED PRECEDING)
    ), fitting AS (
        SELECT * FROM sendable WHERE bytes_so_far <= p_max_bytes AND place <= p_limit
        ORDER BY turn -- as they come from the window: nothing is sorted again
    )
    -- Those of one priority have their turns one after the other.
    SELECT array_agg(fitting.id), array_agg(fitting.revision),
           CASE WHEN p_nths IS NULL
                THEN array_agg(fitting.turn::integer - array_position(p_priorities, fitting.priority) + 1)
                ELSE array_agg(fitting.nth) END, max(fitting.timeout_ms),
           (SELECT array_agg(due.id) FROM due WHERE due.channel <> ALL (p_channels))
    INTO ids, revisions, nths, longest, met
    FROM fitting;
END
$$;
