-- Forgets the plans of this session where the table has become four times as large since they were made. A session keeps a plan until
-- somebody analyses the table, and one that was made for a few rows reads all of them to find one by its id. This look at the
-- size of a file takes some microseconds.
CREATE OR REPLACE FUNCTION outbox_fresh_plans() RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    pages   bigint := pg_relation_size('outbox') / current_setting('block_size')::bigint;
    -- When plans were made, or fewer since. NULL: this session has made none.
    planned bigint := nullif(current_setting('outbox.planned_pages', true), '')::bigint;
BEGIN
    -- PostgreSQL takes a table that was never analysed to have ten pages at least.
    IF pages >= 4 * greatest(10, planned) AND planned IS NOT NULL THEN
        DISCARD PLANS;
    ELSIF pages >= planned THEN
        RETURN;
    END IF;
    PERFORM set_config('outbox.planned_pages', pages::text, false);
END
$$;
