-- What the redrive is about to overwrite.
INSERT INTO outbox_audit (message_id, details, who, action, why)
SELECT o.id, JSON_OBJECT(
           'dead_reason', o.dead_reason, 'attempts', o.attempts,
           'expires_at_cleared', IF(o.expires_at <= UTC_TIMESTAMP(6),
                                    DATE_FORMAT(o.expires_at, '%Y-%m-%dT%H:%i:%s.%fZ'), NULL)),
       ?, 'redrive', ?
FROM outbox o WHERE o.id IN (SELECT asked.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) asked)
ORDER BY o.id
