-- What a claim was made of.
SELECT message_ids, revisions FROM outbox_claim WHERE id = ?1
