-- The next of those that there are: one step in the index, whatever the database knows of its statistics.
SELECT fingerprint FROM outbox FORCE INDEX (outbox_dead) WHERE fingerprint > ?1 ORDER BY fingerprint LIMIT 1
