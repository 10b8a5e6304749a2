-- The claim under which the message may be in flight.
SELECT c.id, c.shard, c.epoch, c.holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', c.claimed_at / 1000.0, 'unixepoch'), CAST(c.claimed_at AS TEXT)) AS claimed_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', c.gate_closed_at / 1000.0, 'unixepoch'), CAST(c.gate_closed_at AS TEXT)) AS gate_closed_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', c.superseded_at / 1000.0, 'unixepoch'), CAST(c.superseded_at AS TEXT)) AS superseded_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', (c.superseded_at + CASE
           WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END) / 1000.0, 'unixepoch') AS settles_at,
       (SELECT l.instance FROM outbox_term_log l WHERE l.shard = c.shard AND l.epoch = c.epoch AND l.holder = c.holder) AS instance
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from
JOIN json_each(c.message_ids) AS sent
JOIN outbox o ON o.id = sent.value AND o.status = 'PENDING'
             AND o.revision = json_extract(c.revisions, '$[' || sent.key || ']')
WHERE o.id = ?1
