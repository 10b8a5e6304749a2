-- A message of nobody's channel, on a shard that nobody polls. Its id is none that the table gives: those are not used up.
INSERT INTO outbox (id, channel, target, ordering_key, payload, shard)
VALUES (-1 - FLOOR(RAND() * 1000000000000000), 'outbox-trial', ?, ?, '{}', ?)
