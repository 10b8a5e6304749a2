INSERT INTO outbox_operation (id, action, state, meant, began_at, carrier, carried_until)
VALUES (?1, ?2, ?3, ?4, CAST(round(unixepoch('subsec') * 1000) AS INTEGER), ?5, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?6)
