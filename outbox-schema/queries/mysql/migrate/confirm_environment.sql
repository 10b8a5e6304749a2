UPDATE outbox_meta SET environment = ?, outbox_id = ?
