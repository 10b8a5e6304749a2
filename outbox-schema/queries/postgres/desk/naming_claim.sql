-- The claim under which the message may be in flight.
SELECT c.id::text AS id, c.shard::integer AS shard, c.epoch, c.holder, coalesce(to_char(c.claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(c.claimed_at) #>> '{}') AS claimed_at,
       coalesce(to_char(c.gate_closed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(c.gate_closed_at) #>> '{}') AS gate_closed_at, coalesce(to_char(c.superseded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(c.superseded_at) #>> '{}') AS superseded_at,
       coalesce(to_char((c.superseded_at + interval '1 ms'
               * CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END
       ) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(c.superseded_at + interval '1 ms'
               * CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END
       ) #>> '{}') AS settles_at,
       (SELECT l.instance FROM outbox_term_log l WHERE l.shard = c.shard AND l.epoch = c.epoch AND l.holder = c.holder) AS instance
FROM outbox_term t
-- By the index of claims, however few of them PostgreSQL takes the table to have.
CROSS JOIN LATERAL (
    SELECT * FROM outbox_claim c WHERE c.shard = t.shard AND c.epoch >= t.unsettled_from OFFSET 0) c
CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
WHERE o.id = $1
