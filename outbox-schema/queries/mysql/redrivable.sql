-- Of the asked, those that are dead letters and that no claim names with their present revision.
SELECT o.id
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o ON o.id = asked.id AND o.status = 'DEAD'
WHERE NOT EXISTS (
    SELECT 1 FROM outbox_claim c
    STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
    WHERE sent.id = o.id AND JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']')) = o.revision)
ORDER BY o.id FOR UPDATE
