-- Of the asked, those that are dead letters and that no claim names with their present revision.
SELECT o.id FROM outbox o
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND o.status = 'DEAD'
  AND NOT EXISTS (SELECT FROM outbox_claim c CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
                  WHERE sent.id = o.id AND sent.revision = o.revision)
ORDER BY o.id FOR UPDATE OF o
