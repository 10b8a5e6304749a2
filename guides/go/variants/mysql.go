package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	insertMySQL     = `INSERT INTO outbox (idempotency_key, channel, target, payload) VALUES (?, 'hooks', ?, ?)`
	insertViewMySQL = `INSERT INTO outbox_new (idempotency_key, channel, target, payload) VALUES (?, 'hooks', ?, ?)`
	enqueueMySQL    = `CALL outbox_enqueue('hooks', ?, ?, ?, NULL, @id)`
)

// openMySQL takes what comes after the database's name: "?parseTime=true&loc=Local", say.
func openMySQL(parameters string) *sql.DB {
	config := mysql.NewConfig()
	config.Net = "tcp"
	config.Addr = net.JoinHostPort(os.Getenv("DB_HOST"), os.Getenv("DB_PORT"))
	config.User = os.Getenv("DB_USER")
	config.Passwd = os.Getenv("DB_PASSWORD")
	config.DBName = os.Getenv("DB_NAME")
	return must(sql.Open("mysql", config.FormatDSN()+parameters))
}

func mySQL() {
	const driver = stack("database/sql with go-sql-driver/mysql")

	db := openMySQL("")
	interpolating := openMySQL("?interpolateParams=true")
	local := openMySQL("?parseTime=true&loc=Local")

	insert := func(db *sql.DB, query string, payload func(row) any) func(row) error {
		return func(r row) error {
			_, err := db.Exec(query, r.key, r.target, payload(r))
			return err
		}
	}
	enqueue := func(db *sql.DB, payload func(row) any) func(row) error {
		return func(r row) error {
			_, err := db.Exec(enqueueMySQL, r.target, payload(r), r.key)
			return err
		}
	}
	bytes := func(r row) any { return r.payload }
	text := func(r row) any { return string(r.payload) }
	object := func(r row) any { return r.body }
	raw := func(r row) any { return json.RawMessage(r.payload) }
	twice := func(r row) any { return must(json.Marshal(string(r.payload))) }

	driver.try("[]byte", insert(db, insertMySQL, bytes))
	driver.try("string", insert(db, insertMySQL, text))
	driver.try("json.RawMessage", insert(db, insertMySQL, raw))
	driver.try("map", insert(db, insertMySQL, object))
	driver.try("json.Marshal of what is JSON already", insert(db, insertMySQL, twice))
	driver.try("a text that is no JSON", insert(db, insertMySQL, func(row) any { return "hello" }))
	driver.try("nil", insert(db, insertMySQL, func(row) any { return nil }))
	driver.tryBody("json.Marshal(nil)", nil, insert(db, insertMySQL, func(row) any { return must(json.Marshal(nil)) }))
	driver.try("outbox_new, []byte", insert(db, insertViewMySQL, bytes))
	driver.try("outbox_enqueue, []byte", enqueue(db, bytes))
	driver.try("outbox_enqueue, string", enqueue(db, text))
	driver.try("outbox_enqueue, json.RawMessage", enqueue(db, raw))
	driver.try("interpolateParams: []byte", insert(interpolating, insertMySQL, bytes))
	driver.try("interpolateParams: json.RawMessage", insert(interpolating, insertMySQL, raw))
	driver.try("interpolateParams: string", insert(interpolating, insertMySQL, text))
	driver.try("interpolateParams: outbox_enqueue, []byte", enqueue(interpolating, bytes))
	driver.try("interpolateParams: outbox_enqueue, string", enqueue(interpolating, text))

	// A number of more than 64 bits, beside one that has them all.
	const largest = uint64(18446744073709551615)
	driver.tryBody("uint64", largest, insert(db, insertMySQL, func(row) any { return must(json.Marshal(largest)) }))
	bigger := new(big.Int).Mul(new(big.Int).SetUint64(largest), big.NewInt(1001))
	driver.tryBody("*big.Int", bigger, insert(db, insertMySQL, func(row) any { return must(json.Marshal(bigger)) }))
	driver.tryBody("outbox_enqueue, *big.Int", bigger, enqueue(db, func(row) any { return must(json.Marshal(bigger)) }))

	driver.try("LastInsertId", func(r row) error {
		result, err := db.Exec(insertMySQL, r.key, r.target, r.payload)
		if err != nil {
			return err
		}
		id, err := result.LastInsertId()
		if err == nil && id == 0 {
			return errors.New("LastInsertId is 0")
		}
		return err
	})
	driver.try("outbox_enqueue, @id", inTransaction(db, func(tx *sql.Tx, r row) error {
		if _, err := tx.Exec(enqueueMySQL, r.target, r.payload, r.key); err != nil {
			return err
		}
		var id int64
		return tx.QueryRow(`SELECT @id`).Scan(&id)
	}))
	if os.Getenv("GUIDE_SERVER") == "mariadb" {
		returning := func(query string) func(row) error {
			return func(r row) error {
				var id int64
				return db.QueryRow(query, r.key, r.target, r.payload).Scan(&id)
			}
		}
		driver.try("RETURNING id", returning(insertMySQL+` RETURNING id`))
		driver.try("outbox_new, RETURNING id", returning(insertViewMySQL+` RETURNING id`))
	}
	driver.tryMany("one INSERT of many rows", func(many []row) error {
		_, err := db.Exec(insertMySQL+`, (?, 'hooks', ?, ?), (?, 'hooks', ?, ?)`,
			many[0].key, many[0].target, many[0].payload, many[1].key, many[1].target, many[1].payload,
			many[2].key, many[2].target, many[2].payload)
		return err
	})
	driver.tryMany("a prepared statement in a transaction", func(many []row) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		statement, err := tx.Prepare(insertMySQL)
		if err != nil {
			return err
		}
		for _, r := range many {
			if _, err := statement.Exec(r.key, r.target, r.payload); err != nil {
				return err
			}
		}
		return tx.Commit()
	})

	later := func(db *sql.DB, availableAt func(time.Duration) any) func(row, time.Duration) error {
		return func(r row, delay time.Duration) error {
			_, err := db.Exec(`
				INSERT INTO outbox (idempotency_key, channel, target, payload, available_at)
				VALUES (?, 'hooks', ?, ?, ?)`, r.key, r.target, string(r.payload), availableAt(delay))
			return err
		}
	}
	now := func(d time.Duration) any { return time.Now().Add(d) }
	utc := func(d time.Duration) any { return time.Now().UTC().Add(d) }
	driver.tryLater("time.Now()", later(db, now))
	driver.tryLater("time.Now().UTC()", later(db, utc))
	driver.tryLater("interpolateParams: time.Now()", later(interpolating, now))
	driver.tryLater("loc=Local: time.Now()", later(local, now))
	driver.tryLater("loc=Local: time.Now().UTC()", later(local, utc))
	driver.tryLater("the local time as text", later(db, func(d time.Duration) any { return time.Now().Add(d).Format(time.DateTime) }))
	inSQL := func(sum string) func(row, time.Duration) error {
		return func(r row, delay time.Duration) error {
			_, err := db.Exec(`
				INSERT INTO outbox (idempotency_key, channel, target, payload, available_at)
				VALUES (?, 'hooks', ?, ?, `+sum+`)`, r.key, r.target, r.payload, delay.Seconds())
			return err
		}
	}
	driver.tryLater("NOW() + INTERVAL", inSQL(`NOW() + INTERVAL ? SECOND`))
	driver.tryLater("UTC_TIMESTAMP(6) + INTERVAL", inSQL(`UTC_TIMESTAMP(6) + INTERVAL ? SECOND`))
	driver.tryLater("outbox_enqueue, delay_seconds", func(r row, delay time.Duration) error {
		options := must(json.Marshal(map[string]any{"delay_seconds": delay.Seconds()}))
		_, err := db.Exec(`CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)`, r.target, r.payload, r.key, options)
		return err
	})
	driver.tryLater("loc=Local: outbox_enqueue, delay_seconds", func(r row, delay time.Duration) error {
		options := must(json.Marshal(map[string]any{"delay_seconds": delay.Seconds()}))
		_, err := local.Exec(`CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)`, r.target, r.payload, r.key, options)
		return err
	})

	repeat := func(again string) func(row) error {
		return inTransaction(db, func(tx *sql.Tx, r row) error {
			if _, err := tx.Exec(insertMySQL, r.key, r.target, r.payload); err != nil {
				return err
			}
			_, err := tx.Exec(again, r.key, r.target, `{"n": 0}`)
			var refused *mysql.MySQLError
			if errors.As(err, &refused) && refused.Number == 1062 {
				return nil
			}
			return err
		})
	}
	driver.try("a known key: error 1062 is caught", repeat(insertMySQL))
	driver.try("a known key: outbox_new, error 1062 is caught", repeat(insertViewMySQL))
	driver.try("a known key: INSERT IGNORE", repeat(`INSERT IGNORE`+insertMySQL[len(`INSERT`):]))
	driver.try("a known key: ON DUPLICATE KEY UPDATE", repeat(insertMySQL+` ON DUPLICATE KEY UPDATE payload = VALUES(payload)`))
	driver.try("a known key: ON DUPLICATE KEY UPDATE id = id", repeat(insertMySQL+` ON DUPLICATE KEY UPDATE id = id`))
	driver.try("a known key: REPLACE", repeat(`REPLACE`+insertMySQL[len(`INSERT`):]))
	driver.try("a known key: outbox_enqueue", inTransaction(db, func(tx *sql.Tx, r row) error {
		if _, err := tx.Exec(insertMySQL, r.key, r.target, r.payload); err != nil {
			return err
		}
		_, err := tx.Exec(enqueueMySQL, r.target, `{"n": 0}`, r.key)
		return err
	}))

	with := func(column string, value any) func(row) error {
		return func(r row) error {
			_, err := db.Exec(`
				INSERT INTO outbox (idempotency_key, channel, target, payload, `+column+`)
				VALUES (?, 'hooks', ?, ?, ?)`, r.key, r.target, r.payload, value)
			return err
		}
	}
	driver.try("the zero value of MaxAttempts int16", with("max_attempts", int16(0)))
	driver.try("the zero value of ExpiresAt time.Time", with("expires_at", time.Time{}))
	driver.try("the zero value of Status string", with("status", ""))
	driver.try("the status SUCCESS", with("status", "SUCCESS"))
	driver.try("headers as []byte", with("headers", []byte(`{"X-Tenant": "7"}`)))
	driver.try("created_at as time.Now()", with("created_at", time.Now()))
}
