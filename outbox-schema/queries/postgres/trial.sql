-- A message of nobody's channel, on a shard that nobody polls.
INSERT INTO outbox (channel, target, payload, shard) VALUES ('outbox-trial', 'nowhere', '{}', -1)
