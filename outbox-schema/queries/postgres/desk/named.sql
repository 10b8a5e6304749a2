-- Those of the asked that a claim names with their present revision: they may be in flight.
SELECT o.id
FROM outbox_term t
-- By the index of claims, however few of them PostgreSQL takes the table to have.
CROSS JOIN LATERAL (
    SELECT * FROM outbox_claim c WHERE c.shard = t.shard AND c.epoch >= t.unsettled_from OFFSET 0) c
CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
