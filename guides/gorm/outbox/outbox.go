// Package outbox writes messages into the outbox, in the transaction of the caller.
package outbox

import (
	"encoding/json"
	"errors"
	"time"

	"gorm.io/gorm"
)

// docs: begin gorm-model

// Message is what the dispatcher delivers once the transaction has committed. Columns that are left out keep their defaults.
type Message struct {
	IdempotencyKey string `gorm:"default:(-)"` // empty: the database makes one
	Channel        string
	Target         string
	Payload        any `gorm:"serializer:json"`
	OrderingKey    *string
	Headers        map[string]string `gorm:"serializer:json"`
}

// TableName is the view through which messages are written: it takes rows and shows none.
func (Message) TableName() string { return "outbox_new" }

// Enqueue writes the message. Where its key is known already, the first message stands.
func Enqueue(tx *gorm.DB, m Message) error {
	// The inner transaction is a savepoint: behind a duplicate, PostgreSQL goes on only from there.
	err := tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&m).Error })
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		return nil
	}
	return err
}

// docs: end gorm-model

// EnqueueLater writes a message with a key. The database counts the delay, so no time zone can shift it.
func EnqueueLater(tx *gorm.DB, m Message, delay time.Duration) error {
	payload, err := json.Marshal(m.Payload)
	if err != nil {
		return err
	}
	if tx.Name() == "postgres" {
		return tx.Exec(`SELECT outbox_enqueue(?, ?, ?, p_idempotency_key => ?, p_delay_seconds => ?)`,
			m.Channel, m.Target, string(payload), m.IdempotencyKey, delay.Seconds()).Error
	}
	options, err := json.Marshal(map[string]any{"delay_seconds": delay.Seconds()})
	if err != nil {
		return err
	}
	return tx.Exec(`CALL outbox_enqueue(?, ?, ?, ?, ?, @id)`,
		m.Channel, m.Target, string(payload), m.IdempotencyKey, string(options)).Error
}
