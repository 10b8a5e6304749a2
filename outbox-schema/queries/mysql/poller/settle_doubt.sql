-- Rows in doubt and what their channel's policy makes of them. Locked, so that they are as committed now.
SELECT o.id AS message_id, o.destination, LEAST(o.attempts + 1, 32767) AS number, c.id AS claim, c.epoch, c.holder,
       c.gate_closed_at IS NULL AS crashed,
       -- Only where both its claimer and this poller would; one of them may not know the channel.
       COALESCE(policy.resend, TRUE) AND NOT JSON_CONTAINS(c.at_most_once, JSON_QUOTE(o.channel)) AS resend,
       COALESCE(o.attempts + 1 >= COALESCE(o.max_attempts, policy.max_attempts), FALSE) AS used_up
FROM JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                      AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
LEFT JOIN JSON_TABLE(?, '$[*]' COLUMNS (
    name varchar(64) CHARACTER SET utf8mb4 PATH '$.name', resend boolean PATH '$.resend',
    max_attempts bigint PATH '$.max_attempts')) policy ON policy.name = o.channel
FOR UPDATE /*!80000 OF c, o */
