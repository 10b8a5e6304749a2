-- What a look shows of a row: see Header. A look goes on from here. 0000-00-00 comes before all moments and is NULL. Another
-- time that is no moment of the calendar, of which TIMESTAMPDIFF says NULL too, counts as the first day behind it: looks get
-- past it.
SELECT o.id, o.revision, o.priority,
       COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', o.available_at),
                TIMESTAMPDIFF(MICROSECOND, '1970-01-01', MAKEDATE(NULLIF(YEAR(o.available_at), 0), 1)
                                                         + INTERVAL GREATEST(MONTH(o.available_at), 1) - 1 MONTH)) AS at_us,
       o.available_at <= UTC_TIMESTAMP(6) AS due, o.channel, COALESCE(o.tenant, o.destination) AS tenant, o.destination,
       RTRIM(o.ordering_key) AS ordering_key,
       o.payload_bytes + OCTET_LENGTH(o.target) + COALESCE(OCTET_LENGTH(o.headers), 0) AS bytes
