-- The messages of an ordering key that go out before one of it: the first, and how many, up to 10,000.
SELECT min(id) AS first, count(*) AS waiting FROM (
    SELECT id FROM outbox
    WHERE shard = ? AND channel = ? AND ordering_key = ? AND status = 'PENDING' AND id < ?
    ORDER BY id LIMIT 10000
) earlier
