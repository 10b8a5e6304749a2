-- What has all of the tags, as long as it is little; $1 is one of them, for the other databases. The plan is that for all there is: for
-- a few rows the whole table could look cheaper.
WITH tagged AS MATERIALIZED (SELECT id FROM outbox WHERE tags @> $2::jsonb)
SELECT id FROM tagged WHERE $1::text IS NOT NULL LIMIT $3
