-- What a claimed row says.
SELECT CAST(payload AS CHAR), CAST(headers AS CHAR) FROM outbox WHERE id = ? AND revision = ?
