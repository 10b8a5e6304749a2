-- Of the asked, those that are dead letters and that no claim names with their present revision.
SELECT o.id FROM outbox o
WHERE o.id IN (SELECT value FROM json_each(?1)) AND o.status = 'DEAD'
  AND NOT EXISTS (SELECT 1 FROM outbox_claim c JOIN json_each(c.message_ids) AS sent
                  WHERE sent.value = o.id AND json_extract(c.revisions, '$[' || sent.key || ']') = o.revision)
ORDER BY o.id
