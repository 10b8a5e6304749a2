-- The messages of an ordering key that go out before one of it: the first, and how many, up to 10,000.
SELECT min(id) AS first, count(*) AS waiting FROM (
    SELECT id FROM outbox
    WHERE shard = $1 AND channel = $2 AND ordering_key = $3 AND status = 'PENDING' AND id < $4
      AND hashtextextended(ordering_key, hashtextextended(channel, 0)) = hashtextextended($3, hashtextextended($2, 0))
    ORDER BY id LIMIT 10000
) earlier
