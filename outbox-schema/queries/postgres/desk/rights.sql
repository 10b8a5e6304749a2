-- Which of the rights in the lists the role lacks, by their place: kinds, names, privileges, and columns, where a right is to one. What
-- is not there is no matter of rights.
SELECT wanted.place
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS wanted (kind, object, privilege, col, place)
CROSS JOIN (SELECT relnamespace AS schema FROM pg_class WHERE oid = to_regclass('outbox_meta')) AS ours
WHERE NOT coalesce(CASE wanted.kind
    WHEN 'schema' THEN has_schema_privilege(ours.schema, wanted.privilege)
    WHEN 'table' THEN (
        SELECT CASE wanted.col
            WHEN '' THEN has_table_privilege(t.oid, wanted.privilege)
            ELSE has_column_privilege(
                t.oid, (SELECT attnum FROM pg_attribute WHERE attrelid = t.oid AND attname = wanted.col), wanted.privilege)
        END FROM pg_class t WHERE t.relnamespace = ours.schema AND t.relname = wanted.object)
    ELSE (SELECT bool_and(has_function_privilege(oid, wanted.privilege))
          FROM pg_proc WHERE pronamespace = ours.schema AND proname = wanted.object)
END, TRUE)
ORDER BY wanted.place
