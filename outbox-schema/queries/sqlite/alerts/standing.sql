-- The newest term of a shard: since when, whether its end is noted, and when its replica was last seen.
SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - t.started_at AS started_ms,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - l.ended_at AS ended_ms,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - r.seen_at AS seen_ms,
       a.is_open AS is_open
FROM outbox_term t
LEFT JOIN outbox_term_log l ON l.shard = t.shard AND l.epoch = t.epoch
LEFT JOIN outbox_replica r ON r.id = substr(t.holder, 1, instr(t.holder, '.') - 1)
CROSS JOIN outbox_alert a
WHERE t.shard = ?1 AND a.kind = 'no_poller'
