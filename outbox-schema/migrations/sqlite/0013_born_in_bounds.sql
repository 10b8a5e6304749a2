-- What a row is born with is bounded, as the other databases bound it by the types of their columns.

-- length() of a text ends at its first NUL, so bytes are counted: four for each character that another database takes.
CREATE TRIGGER outbox_born_short BEFORE INSERT ON outbox WHEN NEW.revision = 0
BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_texts_of_255_characters')
    WHERE length(CAST(NEW.channel AS BLOB)) > 256 OR length(CAST(NEW.idempotency_key AS BLOB)) > 1020
       OR length(CAST(NEW.ordering_key AS BLOB)) > 1020 OR length(CAST(NEW.tenant AS BLOB)) > 1020;
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_trace_context_of_2_kib')
    WHERE length(CAST(NEW.traceparent AS BLOB)) > 256 OR length(CAST(NEW.tracestate AS BLOB)) > 2048;
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_tags_of_64_kib')
    WHERE length(CAST(NEW.tags AS BLOB)) > 65536;
END;

-- What the dispatcher writes must be of its type also where an application writes it: one such row would fail each list.
CREATE TRIGGER outbox_born_readable BEFORE INSERT ON outbox
BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_columns_of_their_types')
    WHERE typeof(NEW.last_status_code) NOT IN ('integer', 'null') OR NEW.last_status_code NOT BETWEEN 0 AND 32767
       OR typeof(NEW.receipt) NOT IN ('text', 'null') OR typeof(NEW.last_error) NOT IN ('text', 'null')
       OR typeof(NEW.error_hash) NOT IN ('text', 'null') OR typeof(NEW.dead_reason) NOT IN ('text', 'null')
       OR typeof(NEW.sent_key) NOT IN ('text', 'null') OR typeof(NEW.replay_of) NOT IN ('integer', 'null')
       OR typeof(NEW.finished_at) NOT IN ('integer', 'real', 'null')
       OR typeof(NEW.first_attempt_at) NOT IN ('integer', 'real', 'null')
       OR typeof(NEW.deferred_from) NOT IN ('integer', 'real', 'null');
END;

UPDATE outbox_meta SET schema_version = 13, serves_from = 2;
