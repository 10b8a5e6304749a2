// Package outbox writes messages into the outbox, in the transaction of the caller.
package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Message is what the dispatcher delivers once the transaction has committed.
type Message struct {
	Channel     string
	Target      string
	Payload     any    // is sent as JSON
	Key         string // names what happened, so that it is sent once; empty: the database makes one
	OrderingKey string // messages of one ordering key are sent one after the other
	Headers     map[string]string
	Delay       time.Duration // counts from now, by the clock of the database
}

// An Enqueue writes the message. It reports false for a key that is known already: then the first message stands.
type Enqueue func(ctx context.Context, tx *sql.Tx, m Message) (bool, error)

// text is what encoding/json writes, as a string. Drivers send bytes as binary data where they prepare no statements:
// pgx in its simple protocol, go-sql-driver with interpolateParams.
func text(value any) (string, error) {
	encoded, err := json.Marshal(value)
	return string(encoded), err
}

// orNull makes NULL of a text that is empty: an empty key would be a key like any other.
func orNull(s string) sql.NullString {
	return sql.NullString{String: s, Valid: s != ""}
}
