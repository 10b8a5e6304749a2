-- The entries of the messages of an edit, with what is about to be overwritten.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT $1, $2, $3, asked.id, asked.details::jsonb
FROM json_to_recordset($4::json) AS asked(id bigint, details text) ORDER BY asked.id
