-- An operation writes its order once, and with each batch only where it stands.

-- place: what the batches have changed of state. NULL before the first one.
ALTER TABLE outbox_operation ADD place TEXT;

UPDATE outbox_meta SET schema_version = 12, serves_from = 2;
