INSERT INTO outbox_operation (id, action, state, meant, began_at, carrier, carried_until)
VALUES (?1, ?2, ?3, ?4, UTC_TIMESTAMP(6), ?5, UTC_TIMESTAMP(6) + INTERVAL (?6 * 1000) MICROSECOND)
