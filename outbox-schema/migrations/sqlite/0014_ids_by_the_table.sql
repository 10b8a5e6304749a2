UPDATE outbox_meta SET schema_version = 14, serves_from = 2;
