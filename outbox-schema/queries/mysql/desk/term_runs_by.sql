UPDATE outbox_term_log SET instance = ?, version = ?, lease_store = ?, settings_hash = ?
WHERE shard = ? AND epoch = ? AND holder = ?
