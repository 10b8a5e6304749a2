-- What has a tag, as long as it is little.
SELECT message_id AS id FROM outbox_tag WHERE tag = ?1 LIMIT ?3
