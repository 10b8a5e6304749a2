SELECT message_id, destination, crashed, resend FROM outbox_settle($1, $2, $3, $4, $5, $6)
