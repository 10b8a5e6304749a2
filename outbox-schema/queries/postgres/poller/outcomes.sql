-- The messages that tell of outcomes, in the transaction that writes these. A repeated mark finds the key, and adds nothing. Only a
-- row with a revision may have such a key, and no application writes one. No outcome is told of an outcome, whatever the settings of
-- another replica say.
INSERT INTO outbox (idempotency_key, channel, target, payload, tenant, shard, revision)
SELECT format('outcome:%s:%s:%s', meta.outbox_id, o.id, o.revision), told.channel, told.target,
       jsonb_build_object(
           'id', o.id, 'idempotency_key', o.idempotency_key, 'channel', o.channel, 'destination', o.destination,
           'status', o.status, 'reason', o.dead_reason, 'error', told.error, 'status_code', o.last_status_code,
           'attempts', o.attempts,
           'at', to_char(o.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'tenant', o.tenant, 'tags', o.tags, 'replay_of', o.replay_of),
       o.tenant, o.shard, 1
FROM json_to_recordset($1::json) AS told(
    id bigint, revision integer, status text, dead_reason text, error text, channel text, target text)
JOIN outbox o ON o.id = told.id AND o.revision = told.revision AND o.status = told.status
             AND o.dead_reason IS NOT DISTINCT FROM told.dead_reason
CROSS JOIN outbox_meta meta
WHERE o.idempotency_key NOT LIKE 'outcome:________-____-____-____-____________:%'
ORDER BY o.id
ON CONFLICT (idempotency_key) DO NOTHING
