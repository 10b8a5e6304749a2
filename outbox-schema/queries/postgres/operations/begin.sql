INSERT INTO outbox_operation (id, action, state, meant, began_at, carrier, carried_until)
VALUES ($1, $2, $3, $4, clock_timestamp(), $5, clock_timestamp() + $6::bigint * interval '1 millisecond')
