-- Of the due rows of one priority, so many behind a place: those whose destinations take something, where the first row of their tenant
-- goes to one that takes nothing; and the last one looked at, with its number. A tenant that is a destination has no such rows.
-- The index is one of an expression, and serves what has no affinity: hence the sign before looked.tenant.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT id, revision, channel, destination, bytes, priority, FALSE AS ordered, NULL AS start_us, at, nth, hidden FROM (
    SELECT numbered.*, coalesce(first_to NOT IN (SELECT value FROM json_each(?6)), FALSE) AS hidden FROM (
        SELECT looked.*, row_number() OVER (ORDER BY looked.available_at, looked.id) AS nth, count(*) OVER () AS many,
               CASE WHEN looked.tenant IS NOT NULL AND looked.destination IN (SELECT value FROM json_each(?6))
                         AND looked.id NOT IN (SELECT value FROM json_each(?7))
                    THEN (SELECT first.destination FROM outbox first INDEXED BY outbox_turns
                          WHERE first.shard = ?1 AND first.status = 'PENDING' AND first.ordering_key IS NULL
                            AND first.channel = looked.channel AND coalesce(first.tenant, first.destination) = +looked.tenant
                            AND first.priority = ?2 AND first.available_at <= (SELECT ms FROM now)
                          ORDER BY first.available_at, first.id LIMIT 1) END AS first_to
        FROM (
            SELECT id, revision, channel, destination, priority, available_at, CAST(available_at AS TEXT) AS at, tenant,
                   payload_bytes + length(CAST(target AS BLOB)) + coalesce(length(CAST(headers AS BLOB)), 0) AS bytes
            FROM outbox INDEXED BY outbox_due
            WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = ?2
              AND available_at <= (SELECT ms FROM now)
              AND (available_at, id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
            ORDER BY available_at, id LIMIT ?5) looked
    ) numbered
) due
WHERE hidden OR nth = many ORDER BY nth LIMIT ?8
