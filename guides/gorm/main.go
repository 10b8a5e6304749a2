// A shop that places orders. Each order and its message are written in one transaction.
package main

import (
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"shop/outbox"
)

// Order is a row of orders.
type Order struct {
	ID       int64 `gorm:"primaryKey;autoIncrement:false"`
	Customer string
	State    string `gorm:"default:placed"`
}

// orderPlaced is the body that the receiver gets.
type orderPlaced struct {
	Order    int64  `json:"order"`
	Customer string `json:"customer"`
	Units    int64  `json:"units"`
	Total    string `json:"total"` // digits as text: JSON readers make floats of numbers
}

var errSoldOut = errors.New("sold out")

func open() (*gorm.DB, error) {
	// TranslateError makes gorm.ErrDuplicatedKey of what each database calls it.
	config := &gorm.Config{TranslateError: true}
	if os.Getenv("GUIDE_SERVER") == "postgres" {
		return gorm.Open(postgres.Open(os.Getenv("DATABASE_URL")), config)
	}
	dsn := mysqldriver.NewConfig()
	dsn.Net = "tcp"
	dsn.Addr = net.JoinHostPort(os.Getenv("DB_HOST"), os.Getenv("DB_PORT"))
	dsn.User = os.Getenv("DB_USER")
	dsn.Passwd = os.Getenv("DB_PASSWORD")
	dsn.DBName = os.Getenv("DB_NAME")
	dsn.ParseTime = true
	dsn.Loc = time.Local // as in gorm's own example
	return gorm.Open(mysql.Open(dsn.FormatDSN()), config)
}

// place saves the order and its message, or neither: reserve comes last and can fail. It tries again where the server rolled
// the transaction back, as MySQL and MariaDB do to end a deadlock over a key that others insert too.
func place(db *gorm.DB, order Order, message outbox.Message, reserve func(*gorm.DB) error) error {
	for tries := 3; ; tries-- {
		err := try(db, order, message, reserve)
		var rolledBack *mysqldriver.MySQLError
		if tries == 1 || !errors.As(err, &rolledBack) || rolledBack.Number != 1213 {
			return err
		}
	}
}

func try(db *gorm.DB, order Order, message outbox.Message, reserve func(*gorm.DB) error) error {
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&order).Error; err != nil {
			return err
		}
		if err := outbox.Enqueue(tx, message); err != nil {
			return err
		}
		return reserve(tx)
	})
}

func run() error {
	db, err := open()
	if err != nil {
		return err
	}
	message := func(key string, payload any) outbox.Message {
		return outbox.Message{IdempotencyKey: key, Channel: "hooks", Target: os.Getenv("TARGET"), Payload: payload}
	}
	inStock := func(*gorm.DB) error { return nil }
	soldOut := func(*gorm.DB) error { return errSoldOut }

	body := orderPlaced{Order: 1, Customer: "Jürgen 李 🎉", Units: 9007199254740991, Total: "12345678901234567890.12"}
	first := Order{ID: 1, Customer: body.Customer}
	if err := place(db, first, message("order-1-placed", body), inStock); err != nil {
		return err
	}

	second := Order{ID: 2, Customer: "Ada"}
	if err := place(db, second, message("order-2-placed", orderPlaced{Order: 2}), soldOut); !errors.Is(err, errSoldOut) {
		return fmt.Errorf("order 2 is not refused: %w", err)
	}

	// The key is known: the message of order 1 stands, and order 3 is saved.
	third := Order{ID: 3, Customer: "Grace"}
	if err := place(db, third, message("order-1-placed", orderPlaced{Order: 3}), inStock); err != nil {
		return err
	}

	err = db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&Order{ID: 4, Customer: "Edsger"}).Error; err != nil {
			return err
		}
		return outbox.EnqueueLater(tx, message("order-4-reminder", map[string]int{"order": 4}), 5*time.Second)
	})
	if err != nil {
		return err
	}

	inOrder := message("", map[string]int{"order": 5})
	customer := "customer-7"
	inOrder.OrderingKey = &customer
	inOrder.Headers = map[string]string{"X-Tenant": "7"}
	if err := place(db, Order{ID: 5, Customer: "Barbara"}, inOrder, inStock); err != nil {
		return err
	}

	return place(db, Order{ID: 6, Customer: "Ann"}, message("order-6-placed", map[string]int{"order": 6}), inStock)
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
