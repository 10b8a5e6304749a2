UPDATE outbox_meta SET schema_version = 13, serves_from = 2;
