-- What a claimed row says.
SELECT payload::text, headers::text FROM outbox WHERE id = $1 AND revision = $2
