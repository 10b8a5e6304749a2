-- Due rows of each lane and priority behind a place. One lane and one priority are asked for as a stretch of the index of
-- turns: as equal values, they could be looked for in the order of another index, past the rows of all others. Lanes whose
-- names share a number are told apart by their names. Most applications write one priority: the others are not looked for with
-- each lane.
FROM unnest($2::varchar[], $3::varchar[], $4::smallint[], $5::timestamptz[], $6::bigint[])
     AS behind(channel, tenant, priority, at, id)
CROSS JOIN LATERAL (
    SELECT o.id, o.revision, o.priority, o.available_at, o.channel, coalesce(o.tenant, o.destination) AS tenant, o.destination,
           o.ordering_key, o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes
    FROM outbox o
    WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL
      AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
            | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority, o.available_at, o.id)
          > ((((hashtextextended(behind.channel, 0) & 32767) << 48)
              | (hashtextextended(behind.tenant, 0) & 281474976710655)), behind.priority, behind.at, behind.id)
      AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
            | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority, o.available_at)
          <= ((((hashtextextended(behind.channel, 0) & 32767) << 48)
               | (hashtextextended(behind.tenant, 0) & 281474976710655)), behind.priority, now())
      AND o.channel = behind.channel AND coalesce(o.tenant, o.destination) = behind.tenant
    ORDER BY (((hashtextextended(o.channel, 0) & 32767) << 48)
              | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority, o.available_at, o.id
    LIMIT $7
) h
WHERE behind.priority = ANY (ARRAY(
    SELECT used.priority FROM unnest('{3,2,1,0}'::smallint[]) AS used(priority)
    WHERE (SELECT true FROM outbox o
           WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = used.priority
             AND o.available_at <= now()
           ORDER BY o.available_at, o.id LIMIT 1)))
