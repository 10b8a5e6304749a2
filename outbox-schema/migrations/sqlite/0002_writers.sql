-- Checks that name a mistake of whoever writes a row. SQLite adds none to a table, so a trigger makes them; it looks at a row as
-- it is born only. Rows of before that stay as they are.
CREATE TRIGGER outbox_born BEFORE INSERT ON outbox
BEGIN
    -- A row born SUCCESS would never be sent.
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_born_pending') WHERE NEW.status <> 'PENDING' AND NEW.revision = 0;
    -- The zero values of languages without NULL.
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_max_attempts_of_1_or_more')
    WHERE NEW.max_attempts < 1 AND NEW.revision = 0;
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_expires_at_after_2000')
    WHERE NEW.expires_at <= 946684800000 AND NEW.revision = 0;
    -- A JSON string that holds JSON: the receiver would get the text in quotes. For channels with body = "text" that send JSON
    -- so: DROP TRIGGER outbox_born.
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_payload_encoded_twice')
    WHERE NEW.revision = 0 AND json_valid(NEW.payload) AND json_type(NEW.payload) = 'text'
      AND substr(ltrim(json_extract(NEW.payload, '$'), ' ' || char(9, 10, 13)), 1, 1) IN ('{', '[');
END;

UPDATE outbox_meta SET schema_version = 2;
