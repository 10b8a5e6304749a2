-- What was delivered can be sent again: by a row of its own, so that the first one stays as it was.

-- The id of the message that this one repeats.
ALTER TABLE outbox ADD replay_of INTEGER CHECK (replay_of IS NULL OR typeof(replay_of) = 'integer');
-- The key that the receiver gets, where it is not the row's own: that of the message repeated.
ALTER TABLE outbox ADD sent_key TEXT CHECK (sent_key IS NULL OR (typeof(sent_key) = 'text' AND length(sent_key) <= 255));

UPDATE outbox_meta SET schema_version = 6, serves_from = 2;
