-- What the customer knows of a message, so that people find it: an order, a device.

-- A JSON object of short texts. No claim reads it.
ALTER TABLE outbox ADD tags TEXT CHECK (tags IS NULL OR (typeof(tags) = 'text' AND json_valid(tags)));

-- As the checks of 0002, for rows as they are born. `order=4711` names a tag, so no name holds an equals sign.
CREATE TRIGGER outbox_born_with_tags BEFORE INSERT ON outbox
WHEN NEW.tags IS NOT NULL AND NEW.revision = 0 AND json_valid(NEW.tags)
BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_tags_of_16_short_texts')
    WHERE json_type(NEW.tags) <> 'object' OR (SELECT count(*) FROM json_each(NEW.tags)) > 16
       OR EXISTS (SELECT 1 FROM json_each(NEW.tags) AS tag
                  WHERE tag.type <> 'text' OR length(tag.value) > 255
                     OR length(tag.key) NOT BETWEEN 1 AND 64 OR instr(tag.key, '=') > 0);
END;

-- Where messages are found by a tag: `order=4711`.
CREATE TABLE outbox_tag (
    tag        TEXT NOT NULL,
    message_id INTEGER NOT NULL,
    PRIMARY KEY (tag, message_id)
) WITHOUT ROWID;
CREATE TRIGGER outbox_list_tags AFTER INSERT ON outbox WHEN NEW.tags IS NOT NULL
BEGIN
    INSERT OR IGNORE INTO outbox_tag (tag, message_id)
    SELECT tag.key || '=' || tag.value, NEW.id FROM json_each(NEW.tags) AS tag;
END;
CREATE TRIGGER outbox_unlist_tags AFTER DELETE ON outbox WHEN OLD.tags IS NOT NULL
BEGIN
    DELETE FROM outbox_tag
    WHERE message_id = OLD.id AND tag IN (SELECT tag.key || '=' || tag.value FROM json_each(OLD.tags) AS tag);
END;

UPDATE outbox_meta SET schema_version = 8, serves_from = 2;
