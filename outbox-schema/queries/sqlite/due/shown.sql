-- What a look shows of a row: see Header. A look goes on from here.
SELECT o.id, o.revision, o.priority, CAST(o.available_at AS REAL) AS at_ms,
       o.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS due,
       o.channel, coalesce(o.tenant, o.destination) AS tenant, o.destination, o.ordering_key,
       o.payload_bytes + length(CAST(o.target AS BLOB)) + coalesce(length(CAST(o.headers AS BLOB)), 0) AS bytes
