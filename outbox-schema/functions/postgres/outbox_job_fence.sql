-- For a job, in each transaction that only the newest run may commit. It keeps the token from changing until that transaction ends,
-- so a run that another has overtaken cannot commit.
--
-- It acts with the rights of the tables' owner. So it finds nothing by a search_path but what PostgreSQL itself brings, and names
-- the table by its schema.
DO $migration$
BEGIN
    EXECUTE format(
        $function$
        CREATE OR REPLACE FUNCTION outbox_job_fence(p_name varchar, p_token bigint) RETURNS void
        LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        AS $body$
        DECLARE
            newest CONSTANT bigint := (SELECT t.token FROM %1$I.outbox_job_token t WHERE t.name = p_name FOR SHARE);
        BEGIN
            IF newest IS NULL OR newest = 0 THEN
                RAISE EXCEPTION 'outbox_job_fence: no run of a job of the name %% has begun', p_name
                    USING ERRCODE = 'object_not_in_prerequisite_state';
            ELSIF newest IS DISTINCT FROM p_token THEN
                RAISE EXCEPTION 'outbox_job_fence: a later run of the job %% has begun (token %%), so the one with token %% may write no more',
                    p_name, newest, p_token USING ERRCODE = 'object_not_in_prerequisite_state';
            END IF;
        END
        $body$
        $function$, current_schema());
END
$migration$;
REVOKE EXECUTE ON FUNCTION outbox_job_fence FROM PUBLIC;
