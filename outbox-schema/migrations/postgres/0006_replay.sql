-- What was delivered can be sent again: by a row of its own, so that the first one stays as it was.

ALTER TABLE outbox
    -- The id of the message that this one repeats.
    ADD replay_of bigint,
    -- The key that the receiver gets, where it is not the row's own: that of the message repeated.
    ADD sent_key  varchar(255) COLLATE "C";

UPDATE outbox_meta SET schema_version = 6, serves_from = 2;
