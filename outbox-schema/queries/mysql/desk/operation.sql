SELECT a.id, DATE_FORMAT(a.at, '%Y-%m-%dT%H:%i:%s.%fZ') AS at, a.who, a.action, a.why,
       CAST(a.details AS CHAR) AS details, a.part_of
FROM outbox_audit a WHERE a.id = ?
