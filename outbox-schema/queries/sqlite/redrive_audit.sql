-- What the redrive is about to overwrite.
INSERT INTO outbox_audit (who, action, why, message_id, details)
SELECT ?1, 'redrive', ?2, o.id, json_object(
           'dead_reason', o.dead_reason, 'attempts', o.attempts,
           'expires_at_cleared', CASE WHEN o.expires_at <= (julianday('now') - 2440587.5) * 86400000
               THEN coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.expires_at / 1000.0, 'unixepoch'), o.expires_at) END)
FROM outbox o WHERE o.id IN (SELECT value FROM json_each(?3)) ORDER BY o.id
