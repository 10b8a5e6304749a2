-- What a claimed row says.
SELECT payload, headers FROM outbox WHERE id = ?1 AND revision = ?2
