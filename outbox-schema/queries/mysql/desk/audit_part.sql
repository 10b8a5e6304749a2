-- The entries of the messages of an edit, with what is about to be overwritten.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT ?1, ?2, ?3, asked.id, asked.details
FROM JSON_TABLE(?4, '$[*]' COLUMNS (id bigint PATH '$.id', details longtext PATH '$.details')) AS asked
