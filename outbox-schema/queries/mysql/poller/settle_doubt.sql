-- Rows in doubt and what their channel's policy makes of them. Locked, so that they are as committed now, but for those that somebody
-- else has locked: their turn comes later. The claims are locked already.
SELECT o.id AS message_id, o.destination, LEAST(o.attempts + 1, 32767) AS number, sent.claim, sent.epoch, sent.holder,
       sent.crashed,
       -- Only where both its claimer and this poller would; one of them may not know the channel.
       COALESCE(policy.resend, TRUE) AND NOT JSON_CONTAINS(sent.at_most_once, JSON_QUOTE(o.channel)) AS resend,
       COALESCE(o.attempts + 1 >= COALESCE(o.max_attempts, policy.max_attempts), FALSE) AS used_up
FROM (
    SELECT batch.id, JSON_EXTRACT(c.revisions, CONCAT('$[', batch.place - 1, ']')) AS revision, c.id AS claim, c.epoch, c.holder,
           c.gate_closed_at IS NULL AS crashed, c.at_most_once
    FROM JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
    STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id
    STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) batch) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING' AND o.revision = sent.revision
LEFT JOIN JSON_TABLE(?, '$[*]' COLUMNS (
    name varchar(64) CHARACTER SET utf8mb4 PATH '$.name', resend boolean PATH '$.resend',
    max_attempts bigint PATH '$.max_attempts')) policy ON policy.name = o.channel
/*M! FOR UPDATE */ /*!80000 FOR UPDATE OF o */ SKIP LOCKED
