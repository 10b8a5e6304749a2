-- Which of the rights in the three lists the role lacks, by their place: kinds, names and privileges. What is not there is no matter
-- of rights.
SELECT wanted.place
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS wanted (kind, object, privilege, place)
CROSS JOIN (SELECT relnamespace AS schema FROM pg_class WHERE oid = to_regclass('outbox_meta')) AS ours
WHERE NOT coalesce(CASE wanted.kind
    WHEN 'schema' THEN has_schema_privilege(ours.schema, wanted.privilege)
    WHEN 'table' THEN has_table_privilege(
        (SELECT oid FROM pg_class WHERE relnamespace = ours.schema AND relname = wanted.object), wanted.privilege)
    ELSE (SELECT bool_and(has_function_privilege(oid, wanted.privilege))
          FROM pg_proc WHERE pronamespace = ours.schema AND proname = wanted.object)
END, TRUE)
ORDER BY wanted.place
