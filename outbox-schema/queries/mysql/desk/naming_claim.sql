-- The claim under which the message may be in flight.
SELECT c.id, c.shard, c.epoch, c.holder, DATE_FORMAT(c.claimed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS claimed_at,
       DATE_FORMAT(c.gate_closed_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS gate_closed_at,
       DATE_FORMAT(c.superseded_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS superseded_at,
       DATE_FORMAT(TIMESTAMPADD(MICROSECOND,
                                1000 * IF(c.gate_closed_at IS NULL, c.settling_ms, c.settling_closed_ms),
                                c.superseded_at), '%Y-%m-%dT%H:%i:%s.%fZ') AS settles_at,
       (SELECT l.instance FROM outbox_term_log l WHERE l.shard = c.shard AND l.epoch = c.epoch AND l.holder = c.holder) AS instance
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term) ON c.shard = t.shard AND c.epoch >= t.unsettled_from
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                      AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
WHERE o.id = ?
