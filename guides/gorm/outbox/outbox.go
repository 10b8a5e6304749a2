// Package outbox has the model of a message.
package outbox

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
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
	AvailableAt    Delay
}

// TableName is the view through which messages are written: it takes rows and shows none.
func (Message) TableName() string { return "outbox_new" }

// Delay counts from now, by the clock of the database: no time zone can shift it.
type Delay time.Duration

// GormValue is what gorm writes for a Delay.
func (d Delay) GormValue(_ context.Context, db *gorm.DB) clause.Expr {
	seconds := time.Duration(d).Seconds()
	if db.Name() == "postgres" {
		return gorm.Expr("now() + ? * interval '1 second'", seconds)
	}
	return gorm.Expr("UTC_TIMESTAMP(6) + INTERVAL ? SECOND", seconds)
}

// docs: end gorm-model
