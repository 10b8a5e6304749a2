-- Dead letters, as long as they are few: to other rows their index holds NULL.
SELECT id FROM outbox FORCE INDEX (outbox_dead) WHERE fingerprint > '' LIMIT ?
