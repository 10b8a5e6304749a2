-- All their ids first, from the index of the dead letters: the walk down the primary key would read history.
WITH dead AS MATERIALIZED (
    SELECT id FROM outbox
    WHERE status = 'DEAD' AND ($1::text IS NULL OR channel = $1) AND ($2::text IS NULL OR dead_reason = $2)
      AND ($3::text IS NULL OR destination = $3)
      AND ($4::bigint IS NULL OR finished_at >= now() - $4::bigint * interval '1 ms')
      AND ($5::bigint IS NULL OR id < $5)
)
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.dead_reason, o.attempts::integer AS attempts,
       o.last_error, o.last_status_code, to_json(o.created_at) #>> '{}' AS created_at,
       to_json(o.finished_at) #>> '{}' AS finished_at
FROM (SELECT id FROM dead ORDER BY id DESC LIMIT $6) page JOIN outbox o ON o.id = page.id
ORDER BY o.id DESC
