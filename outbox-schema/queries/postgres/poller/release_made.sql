-- Release the rows of a claim that was made and given up: nothing of it was sent.
DELETE FROM outbox_claim WHERE id = $1::uuid AND cardinality(message_ids) > 0
