-- All their ids first, from the index of the dead letters: the walk down the primary key would read history.
WITH dead AS MATERIALIZED (
    SELECT id FROM outbox INDEXED BY outbox_dead
    WHERE status = 'DEAD' AND (?1 IS NULL OR channel = ?1) AND (?2 IS NULL OR dead_reason = ?2)
      AND (?3 IS NULL OR destination = ?3)
      AND (?4 IS NULL OR finished_at >= (julianday('now') - 2440587.5) * 86400000 - ?4)
      AND (?5 IS NULL OR id < ?5)
)
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.dead_reason, o.attempts, o.last_error,
       o.last_status_code,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.created_at / 1000.0, 'unixepoch'), CAST(o.created_at AS TEXT)) AS created_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.finished_at / 1000.0, 'unixepoch'), CAST(o.finished_at AS TEXT)) AS finished_at
FROM (SELECT id FROM dead ORDER BY id DESC LIMIT ?6) page JOIN outbox o ON o.id = page.id
ORDER BY o.id DESC
