package outbox

import (
	"context"
	"database/sql"
)

// docs: begin go-postgres

// Postgres enqueues on PostgreSQL.
func Postgres(ctx context.Context, tx *sql.Tx, m Message) (bool, error) {
	payload, err := text(m.Payload)
	if err != nil {
		return false, err
	}
	headers, err := text(m.Headers) // null where there are none
	if err != nil {
		return false, err
	}

	var id sql.NullInt64 // NULL for a known key
	err = tx.QueryRowContext(ctx, `
		SELECT outbox_enqueue($1, $2, $3, p_idempotency_key => $4, p_headers => $5, p_ordering_key => $6,
		                      p_delay_seconds => $7)`,
		m.Channel, m.Target, payload, orNull(m.Key), headers, orNull(m.OrderingKey), m.Delay.Seconds(),
	).Scan(&id)
	return id.Valid, err
}

// docs: end go-postgres
