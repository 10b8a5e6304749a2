-- The order, and where it stands, with who gave it.
SELECT o.action, o.state AS kept, o.place, o.meant, o.done, o.changed, o.status, a.who
FROM outbox_operation o
LEFT JOIN outbox_audit a FORCE INDEX (PRIMARY) ON a.id = o.id
WHERE o.id = ?1
