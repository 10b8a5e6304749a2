SELECT serves_from, functions_version FROM outbox_meta
