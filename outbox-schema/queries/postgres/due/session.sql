-- What the connection for looks is told once. Each look is a stretch of one index in the order of that index: there is one plan
-- to choose, whatever the statistics of the table say, and also before it was ever analysed.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET enable_incremental_sort = off;
SET plan_cache_mode = force_generic_plan;
