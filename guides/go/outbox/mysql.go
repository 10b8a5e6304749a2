package outbox

import (
	"context"
	"database/sql"
)

// docs: begin go-mysql

// MySQL enqueues on MySQL and MariaDB.
func MySQL(ctx context.Context, tx *sql.Tx, m Message) (bool, error) {
	payload, err := text(m.Payload)
	if err != nil {
		return false, err
	}
	options, err := text(struct {
		Headers     map[string]string `json:"headers,omitempty"`
		OrderingKey string            `json:"ordering_key,omitempty"`
		Delay       float64           `json:"delay_seconds,omitempty"`
	}{m.Headers, m.OrderingKey, m.Delay.Seconds()})
	if err != nil {
		return false, err
	}

	_, err = tx.ExecContext(ctx, `CALL outbox_enqueue(?, ?, ?, ?, ?, @id)`,
		m.Channel, m.Target, payload, orNull(m.Key), options)
	if err != nil {
		return false, err
	}
	var id sql.NullInt64 // NULL for a known key
	err = tx.QueryRowContext(ctx, `SELECT @id`).Scan(&id)
	return id.Valid, err
}

// docs: end go-mysql
