-- The advisory lock by which claims and open cancellations of a shard know of each other: see outbox_cancel.
CREATE OR REPLACE FUNCTION outbox_cancelling(p_shard smallint) RETURNS bigint
LANGUAGE sql STABLE
AS $$
    SELECT ('outbox'::regclass::oid::bigint << 16) + p_shard
$$;
