-- The newest due rows that were never tried, of each priority. Of those that come due again there may be any number.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT * FROM (
    SELECT id FROM (SELECT id, available_at, first_attempt_at FROM outbox INDEXED BY outbox_due
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
      AND priority = 3 AND available_at <= (SELECT ms FROM now)
      AND id NOT IN (SELECT value FROM json_each(?2))
      AND destination NOT IN (SELECT value FROM json_each(?4))
      AND channel NOT IN (SELECT value FROM json_each(?5))
    ORDER BY available_at DESC, id DESC LIMIT 512)
    WHERE first_attempt_at IS NULL ORDER BY available_at DESC, id DESC LIMIT ?3)
UNION ALL
SELECT * FROM (
    SELECT id FROM (SELECT id, available_at, first_attempt_at FROM outbox INDEXED BY outbox_due
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
      AND priority = 2 AND available_at <= (SELECT ms FROM now)
      AND id NOT IN (SELECT value FROM json_each(?2))
      AND destination NOT IN (SELECT value FROM json_each(?4))
      AND channel NOT IN (SELECT value FROM json_each(?5))
    ORDER BY available_at DESC, id DESC LIMIT 512)
    WHERE first_attempt_at IS NULL ORDER BY available_at DESC, id DESC LIMIT ?3)
UNION ALL
SELECT * FROM (
    SELECT id FROM (SELECT id, available_at, first_attempt_at FROM outbox INDEXED BY outbox_due
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
      AND priority = 1 AND available_at <= (SELECT ms FROM now)
      AND id NOT IN (SELECT value FROM json_each(?2))
      AND destination NOT IN (SELECT value FROM json_each(?4))
      AND channel NOT IN (SELECT value FROM json_each(?5))
    ORDER BY available_at DESC, id DESC LIMIT 512)
    WHERE first_attempt_at IS NULL ORDER BY available_at DESC, id DESC LIMIT ?3)
UNION ALL
SELECT * FROM (
    SELECT id FROM (SELECT id, available_at, first_attempt_at FROM outbox INDEXED BY outbox_due
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
      AND priority = 0 AND available_at <= (SELECT ms FROM now)
      AND id NOT IN (SELECT value FROM json_each(?2))
      AND destination NOT IN (SELECT value FROM json_each(?4))
      AND channel NOT IN (SELECT value FROM json_each(?5))
    ORDER BY available_at DESC, id DESC LIMIT 512)
    WHERE first_attempt_at IS NULL ORDER BY available_at DESC, id DESC LIMIT ?3)
