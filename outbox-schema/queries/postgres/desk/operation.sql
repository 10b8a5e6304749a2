SELECT a.id, to_json(a.at) #>> '{}' AS at, a.who, a.action, a.why,
       a.details::text AS details, a.part_of
FROM outbox_audit a WHERE a.id = $1
