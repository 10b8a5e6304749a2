-- How many messages were settled, in the log of the term that left each in doubt.
UPDATE outbox_term_log AS l
SET in_doubt = coalesce(l.in_doubt, 0) + their.messages
FROM (
    SELECT c.shard, c.epoch, count(*) AS messages
    FROM json_each(?1) AS d JOIN outbox_claim c ON c.id = d.value ->> 'claim'
    GROUP BY c.shard, c.epoch
) AS their
WHERE l.shard = their.shard AND l.epoch = their.epoch
