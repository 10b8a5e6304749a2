-- The lowest id of so many rows down the primary key, and how many rows there are.
SELECT min(below.id) AS lowest, count(*) AS looked_at
FROM (SELECT id FROM outbox FORCE INDEX (PRIMARY) WHERE id < ? ORDER BY id DESC LIMIT ?) below
