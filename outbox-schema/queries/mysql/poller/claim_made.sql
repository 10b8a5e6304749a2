-- What a claim was made of.
SELECT CAST(message_ids AS CHAR) AS message_ids, CAST(revisions AS CHAR) AS revisions FROM outbox_claim WHERE id = ?
