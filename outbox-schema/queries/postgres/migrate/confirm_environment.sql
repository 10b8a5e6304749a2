UPDATE outbox_meta SET environment = $1, outbox_id = $2::uuid
