-- Empty texts that nobody meant are refused. All messages with an empty key would be one, and all with an empty ordering key one
-- line: leave the column out, or write NULL.
CREATE TRIGGER outbox_born_with_texts BEFORE INSERT ON outbox WHEN NEW.revision = 0
BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_idempotency_key_not_empty') WHERE NEW.idempotency_key = '';
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_ordering_key_not_empty') WHERE NEW.ordering_key = '';
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_tenant_not_empty') WHERE NEW.tenant = '';
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_channel_not_empty') WHERE NEW.channel = '';
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_target_not_empty') WHERE NEW.target = '';
    -- MySQL and MariaDB compare texts without the spaces at their end, so two keys that differ by those alone are refused on all.
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_key_ends_in_no_space')
    WHERE substr(NEW.idempotency_key, -1) = ' ' OR substr(NEW.ordering_key, -1) = ' ' OR substr(NEW.tenant, -1) = ' '
       OR substr(NEW.channel, -1) = ' ';
END;

UPDATE outbox_meta SET schema_version = 16, serves_from = 2;
