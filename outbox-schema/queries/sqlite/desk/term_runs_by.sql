UPDATE outbox_term_log SET instance = ?1, version = ?2, lease_store = ?3, settings_hash = ?4
WHERE shard = ?5 AND epoch = ?6 AND holder = ?7
