-- Dead letters, as long as they are few: their index holds nothing else. The order makes it use that.
SELECT id FROM outbox WHERE status = 'DEAD' ORDER BY fingerprint, dead_at, id LIMIT $1
