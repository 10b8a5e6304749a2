-- The messages that tell of outcomes, in the transaction that writes these. A repeated mark finds the key, and adds nothing. Only a
-- row with a revision may have such a key, and no application writes one. No outcome is told of an outcome, whatever the settings of
-- another replica say.
INSERT INTO outbox (idempotency_key, channel, target, payload, tenant, shard, revision)
SELECT 'outcome:' || meta.outbox_id || ':' || o.id || ':' || o.revision, told.channel, told.target,
       json_object(
           'id', o.id, 'idempotency_key', o.idempotency_key, 'channel', o.channel, 'destination', o.destination,
           'status', o.status, 'reason', o.dead_reason, 'error', told.error, 'status_code', o.last_status_code,
           'attempts', o.attempts, 'at', strftime('%Y-%m-%dT%H:%M:%fZ', o.finished_at / 1000.0, 'unixepoch'),
           'tenant', o.tenant, 'tags', json(o.tags), 'replay_of', o.replay_of),
       o.tenant, o.shard, 1
FROM (
    SELECT value ->> 'id' AS id, value ->> 'revision' AS revision, value ->> 'status' AS status,
           value ->> 'dead_reason' AS dead_reason, value ->> 'error' AS error, value ->> 'channel' AS channel,
           value ->> 'target' AS target
    FROM json_each(?1)
) AS told
JOIN outbox o ON o.id = told.id AND o.revision = told.revision AND o.status = told.status
             AND o.dead_reason IS told.dead_reason
CROSS JOIN outbox_meta meta
WHERE o.idempotency_key NOT GLOB 'outcome:????????-????-????-????-????????????:*'
ORDER BY o.id
ON CONFLICT (idempotency_key) DO NOTHING
