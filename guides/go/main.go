// A shop that places orders. Each order and its message are written in one transaction.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"shop/outbox"
)

type order struct {
	ID       int64  `json:"order"`
	Customer string `json:"customer,omitempty"`
	Units    int64  `json:"units,omitempty"`
	Total    string `json:"total,omitempty"` // digits as text: JSON readers make floats of numbers
}

var errSoldOut = errors.New("sold out")

type shop struct {
	db      *sql.DB
	enqueue outbox.Enqueue
	insert  string
}

func open() (shop, error) {
	if os.Getenv("GUIDE_SERVER") == "postgres" {
		db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
		return shop{db, outbox.Postgres, `INSERT INTO orders (id, customer) VALUES ($1, $2)`}, err
	}
	config := mysql.NewConfig()
	config.Net = "tcp"
	config.Addr = net.JoinHostPort(os.Getenv("DB_HOST"), os.Getenv("DB_PORT"))
	config.User = os.Getenv("DB_USER")
	config.Passwd = os.Getenv("DB_PASSWORD")
	config.DBName = os.Getenv("DB_NAME")
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return shop{}, err
	}
	return shop{sql.OpenDB(connector), outbox.MySQL, `INSERT INTO orders (id, customer) VALUES (?, ?)`}, nil
}

// place saves the order and its message, or neither: reserve comes last and can fail. It tries again where the server rolled
// the transaction back, as MySQL and MariaDB do to end a deadlock over a key that others insert too.
func (s shop) place(ctx context.Context, o order, m outbox.Message, reserve func(*sql.Tx) error) error {
	for tries := 3; ; tries-- {
		err := s.try(ctx, o, m, reserve)
		var rolledBack *mysql.MySQLError
		if tries == 1 || !errors.As(err, &rolledBack) || rolledBack.Number != 1213 {
			return err
		}
	}
}

func (s shop) try(ctx context.Context, o order, m outbox.Message, reserve func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit

	if _, err := tx.ExecContext(ctx, s.insert, o.ID, o.Customer); err != nil {
		return err
	}
	sent, err := s.enqueue(ctx, tx, m)
	if err != nil {
		return err
	}
	if !sent {
		log.Printf("order %d: the message %s is in the outbox already", o.ID, m.Key)
	}
	if err := reserve(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func run(ctx context.Context) error {
	s, err := open()
	if err != nil {
		return err
	}
	defer s.db.Close()

	message := func(key string, payload any) outbox.Message {
		return outbox.Message{Channel: "hooks", Target: os.Getenv("TARGET"), Key: key, Payload: payload}
	}
	inStock := func(*sql.Tx) error { return nil }
	soldOut := func(*sql.Tx) error { return errSoldOut }

	first := order{ID: 1, Customer: "Jürgen 李 🎉", Units: 9007199254740991, Total: "12345678901234567890.12"}
	if err := s.place(ctx, first, message("order-1-placed", first), inStock); err != nil {
		return err
	}

	second := order{ID: 2, Customer: "Ada"}
	if err := s.place(ctx, second, message("order-2-placed", second), soldOut); !errors.Is(err, errSoldOut) {
		return fmt.Errorf("order 2 is not refused: %w", err)
	}

	// The key is known: the message of order 1 stands, and order 3 is saved.
	third := order{ID: 3, Customer: "Grace"}
	if err := s.place(ctx, third, message("order-1-placed", third), inStock); err != nil {
		return err
	}

	reminder := message("order-4-reminder", map[string]int{"order": 4})
	reminder.Delay = 5 * time.Second
	if err := s.place(ctx, order{ID: 4, Customer: "Edsger"}, reminder, inStock); err != nil {
		return err
	}

	inOrder := message("", map[string]int{"order": 5})
	inOrder.OrderingKey = "customer-7"
	inOrder.Headers = map[string]string{"X-Tenant": "7"}
	if err := s.place(ctx, order{ID: 5, Customer: "Barbara"}, inOrder, inStock); err != nil {
		return err
	}

	return s.place(ctx, order{ID: 6, Customer: "Ann"}, message("order-6-placed", map[string]int{"order": 6}), inStock)
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
