SELECT a.id, coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', a.at / 1000.0, 'unixepoch'), CAST(a.at AS TEXT)) AS at, a.who, a.action, a.why,
       a.details AS details, a.part_of
FROM outbox_audit a WHERE a.id = ?1
