-- Due messages of a priority, without an ordering key, that are before a message: all of them where its own is lower, else those
-- longer due. How many, up to 10,000, and for how long the first has been due. Read from the index of the poll. And how many of
-- them are of its own tenant, read from the index of turns.
SELECT count(*) AS ahead,
       CASE WHEN isfinite(min(available_at))
            THEN (extract(epoch FROM now() - min(available_at)) * 1000)::bigint END AS oldest_ms,
       (SELECT count(*) FROM (
           SELECT FROM outbox t
           WHERE t.shard = $1 AND t.status = 'PENDING' AND t.ordering_key IS NULL AND t.priority = $2 AND t.available_at <= now()
             AND (((hashtextextended(t.channel, 0) & 32767) << 48)
              | (hashtextextended(coalesce(t.tenant, t.destination), 0) & 281474976710655))
               = (SELECT (((hashtextextended(o.channel, 0) & 32767) << 48)
              | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655))
                  FROM outbox o WHERE o.id = $4)
             AND (t.available_at, t.id) < (CASE WHEN $2 > $3 THEN timestamptz 'infinity'
                                                ELSE (SELECT available_at FROM outbox WHERE id = $4) END, $4)
           LIMIT 10000) own) AS of_tenant
FROM (
    SELECT available_at FROM outbox
    WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = $2 AND available_at <= now()
      AND (available_at, id) < (CASE WHEN $2 > $3 THEN timestamptz 'infinity'
                                     ELSE (SELECT available_at FROM outbox WHERE id = $4) END, $4)
    ORDER BY available_at, id LIMIT 10000
) before
