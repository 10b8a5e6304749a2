-- Two ways: a grant, or the schema itself, which whoever owns it may give rights on. `public` belongs to pg_database_owner, and that is
-- whoever owns the database. A group is named where somebody in it is not the tables' owner. The last column is empty for a grant.
SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, quote_ident(n.nspname), ''
FROM pg_class t
JOIN pg_namespace n ON n.oid = t.relnamespace
CROSS JOIN LATERAL aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE t.oid = 'outbox'::regclass AND a.privilege_type = 'CREATE'
  AND a.grantee NOT IN (n.nspowner, t.relowner) AND NOT coalesce(r.rolsuper, false)
UNION ALL
SELECT quote_ident(o.rolname), quote_ident(n.nspname), quote_ident(pg_get_userbyid(t.relowner))
FROM pg_class t
JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_database d ON d.datname = current_database()
JOIN pg_roles o ON o.oid = CASE pg_get_userbyid(n.nspowner) WHEN 'pg_database_owner' THEN d.datdba ELSE n.nspowner END
WHERE t.oid = 'outbox'::regclass AND NOT o.rolsuper
  AND EXISTS (
      SELECT 1 FROM pg_roles r
      WHERE r.rolcanlogin AND NOT r.rolsuper
        AND pg_has_role(r.oid, o.oid, 'MEMBER') AND NOT pg_has_role(r.oid, t.relowner, 'MEMBER'))
ORDER BY 1
