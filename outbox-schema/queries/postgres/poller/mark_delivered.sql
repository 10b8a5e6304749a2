SELECT outbox_mark_delivered($1, $2, $3, $4, $5, $6, $7, $8)
