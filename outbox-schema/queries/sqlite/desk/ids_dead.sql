-- Dead letters, as long as they are few: their index holds nothing else.
SELECT id FROM outbox INDEXED BY outbox_dead WHERE status = 'DEAD' LIMIT ?1
