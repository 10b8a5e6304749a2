-- What became of a message, by its key: for applications that are granted it. No row says that no such message is there. It shows
-- neither payload, target nor error.
--
-- It acts with the rights of the tables' owner. So it finds nothing by a search_path but what PostgreSQL itself brings, and names
-- the table by its schema.
DO $migration$
BEGIN
    EXECUTE format(
        $function$
        CREATE OR REPLACE FUNCTION outbox_outcome(p_key varchar) RETURNS TABLE (
            id bigint, status varchar, reason varchar, status_code integer, fingerprint varchar, attempts integer,
            due_at timestamptz, ended_at timestamptz)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        AS $body$
            SELECT o.id, o.status, o.dead_reason, o.last_status_code, o.fingerprint, o.attempts::integer,
                   CASE WHEN o.status = 'PENDING' THEN o.available_at END, o.finished_at
            FROM %1$I.outbox o WHERE o.idempotency_key = p_key
        $body$
        $function$, current_schema());
END
$migration$;
REVOKE EXECUTE ON FUNCTION outbox_outcome FROM PUBLIC;
