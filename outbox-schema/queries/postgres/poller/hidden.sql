-- Of the due rows of one priority, so many behind a place: those whose destinations take something, where the first row of their tenant
-- goes to one that takes nothing; and the last one looked at, with its number. A tenant that is a destination has no such rows.
-- Names are hashed: the elements of an array would be compared one by one. The first row is asked for as a stretch of the index of
-- turns: as an equal value, it could be looked for in the order of another index, past the rows of all others.
SELECT id, revision, channel, destination, bytes, priority, false AS ordered, NULL::bigint AS start_us, at, nth, hidden FROM (
    SELECT numbered.*, coalesce(first_to NOT IN (SELECT json_array_elements_text($6::json)), false) AS hidden FROM (
        SELECT looked.*, row_number() OVER (ORDER BY looked.available_at, looked.id) AS nth, count(*) OVER () AS many,
               CASE WHEN looked.tenant IS NOT NULL AND looked.destination IN (SELECT json_array_elements_text($6::json))
                         AND looked.id NOT IN (SELECT json_array_elements_text($7::json)::bigint)
                    THEN (SELECT first.destination::text FROM outbox first
                          WHERE first.shard = $1 AND first.status = 'PENDING' AND first.ordering_key IS NULL
                            AND ((((hashtextextended(first.channel, 0) & 32767) << 48)
                                 | (hashtextextended(coalesce(first.tenant, first.destination), 0) & 281474976710655)),
                                 first.priority, first.available_at, first.id)
                                > (looked.turn, looked.priority, timestamptz '-infinity', 0)
                            AND ((((hashtextextended(first.channel, 0) & 32767) << 48)
                                 | (hashtextextended(coalesce(first.tenant, first.destination), 0) & 281474976710655)),
                                 first.priority, first.available_at) <= (looked.turn, looked.priority, now())
                          ORDER BY (((hashtextextended(first.channel, 0) & 32767) << 48)
                                    | (hashtextextended(coalesce(first.tenant, first.destination), 0) & 281474976710655)),
                                   first.priority, first.available_at, first.id LIMIT 1) END AS first_to
        FROM (
            SELECT o.id, o.revision, o.channel::text AS channel, o.destination::text AS destination, o.priority, o.available_at,
                   o.available_at::text AS at, o.tenant,
                   o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes,
                   (((hashtextextended(o.channel, 0) & 32767) << 48)
                    | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) AS turn
            FROM outbox o
            WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
              AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
            ORDER BY o.available_at, o.id LIMIT $5) looked
    ) numbered
) due
WHERE hidden OR nth = many ORDER BY nth LIMIT $8
