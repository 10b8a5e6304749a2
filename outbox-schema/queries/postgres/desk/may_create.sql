SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, quote_ident(n.nspname)
FROM pg_class t
JOIN pg_namespace n ON n.oid = t.relnamespace
CROSS JOIN LATERAL aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE t.oid = 'outbox'::regclass AND a.privilege_type = 'CREATE'
  AND a.grantee NOT IN (n.nspowner, t.relowner) AND NOT coalesce(r.rolsuper, false)
ORDER BY 1
