package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
)

const (
	insertPG     = `INSERT INTO outbox (idempotency_key, channel, target, payload) VALUES ($1, 'hooks', $2, $3)`
	insertViewPG = `INSERT INTO outbox_new (idempotency_key, channel, target, payload) VALUES ($1, 'hooks', $2, $3)`
	enqueuePG    = `SELECT outbox_enqueue('hooks', $2, $3, p_idempotency_key => $1)`
)

func postgres() {
	const (
		stdlib = stack("database/sql with pgx")
		libPQ  = stack("database/sql with lib/pq")
		native = stack("pgx")
	)

	ctx := context.Background()
	url := os.Getenv("DATABASE_URL")
	db := must(sql.Open("pgx", url))
	libpq := must(sql.Open("postgres", url+"?sslmode=disable"))
	conn := must(pgx.Connect(ctx, url))
	simple := must(pgx.Connect(ctx, url+"?default_query_exec_mode=simple_protocol"))

	exec := func(db *sql.DB, query string, payload func(row) any) func(row) error {
		return func(r row) error {
			_, err := db.Exec(query, r.key, r.target, payload(r))
			return err
		}
	}
	over := func(conn *pgx.Conn, query string, payload func(row) any) func(row) error {
		return func(r row) error {
			_, err := conn.Exec(ctx, query, r.key, r.target, payload(r))
			return err
		}
	}
	bytes := func(r row) any { return r.payload }
	text := func(r row) any { return string(r.payload) }
	object := func(r row) any { return r.body }
	raw := func(r row) any { return json.RawMessage(r.payload) }
	twice := func(r row) any { return must(json.Marshal(string(r.payload))) }

	stdlib.try("[]byte", exec(db, insertPG, bytes))
	stdlib.try("string", exec(db, insertPG, text))
	stdlib.try("json.RawMessage", exec(db, insertPG, raw))
	stdlib.try("map", exec(db, insertPG, object))
	stdlib.try("json.Marshal of what is JSON already", exec(db, insertPG, twice))
	stdlib.try("outbox_enqueue, []byte", exec(db, enqueuePG, bytes))
	stdlib.try("outbox_enqueue, string", exec(db, enqueuePG, text))

	libPQ.try("[]byte", exec(libpq, insertPG, bytes))
	libPQ.try("string", exec(libpq, insertPG, text))
	libPQ.try("map", exec(libpq, insertPG, object))
	libPQ.try("outbox_enqueue, []byte", exec(libpq, enqueuePG, bytes))
	libPQ.try("outbox_enqueue, string", exec(libpq, enqueuePG, text))

	native.try("[]byte", over(conn, insertPG, bytes))
	native.try("string", over(conn, insertPG, text))
	native.try("map", over(conn, insertPG, object))
	native.try("struct", over(conn, insertPG, func(r row) any {
		return struct {
			N        any `json:"n"`
			Customer any `json:"customer"`
		}{r.body["n"], r.body["customer"]}
	}))
	native.try("json.Marshal of what is JSON already", over(conn, insertPG, twice))
	native.try("a text that is no JSON", over(conn, insertPG, func(row) any { return "hello" }))
	native.try("nil", over(conn, insertPG, func(row) any { return nil }))
	native.tryBody("json.Marshal(nil)", nil, over(conn, insertPG, func(row) any { return must(json.Marshal(nil)) }))
	native.try("outbox_enqueue, []byte", over(conn, enqueuePG, bytes))
	native.try("outbox_enqueue, string", over(conn, enqueuePG, text))
	native.try("outbox_enqueue, map", over(conn, enqueuePG, object))
	native.try("outbox_enqueue, map as $3::jsonb", over(conn,
		`SELECT outbox_enqueue('hooks', $2, $3::jsonb, p_idempotency_key => $1)`, object))

	// As behind a pooler of transactions, which keeps no prepared statements.
	native.try("simple_protocol: []byte", over(simple, insertPG, bytes))
	native.try("simple_protocol: string", over(simple, insertPG, text))
	native.try("simple_protocol: map", over(simple, insertPG, object))
	native.try("simple_protocol: outbox_enqueue, []byte", over(simple, enqueuePG, bytes))
	native.try("simple_protocol: outbox_enqueue, string", over(simple, enqueuePG, text))

	returning := func(query string) func(row) error {
		return func(r row) error {
			rows, err := conn.Query(ctx, query, r.key, r.target, r.body)
			if err != nil {
				return err
			}
			_, err = pgx.CollectExactlyOneRow(rows, pgx.RowToMap)
			return err
		}
	}
	native.try("RETURNING id", returning(insertPG+` RETURNING id`))
	native.try("RETURNING id, available_at, status", returning(insertPG+` RETURNING id, available_at, status`))
	native.try("RETURNING *", returning(insertPG+` RETURNING *`))
	native.try("outbox_new, RETURNING *", returning(insertViewPG+` RETURNING *`))
	stdlib.try("LastInsertId", inTransaction(db, func(tx *sql.Tx, r row) error {
		result, err := tx.Exec(insertPG, r.key, r.target, r.payload)
		if err != nil {
			return err
		}
		_, err = result.LastInsertId()
		return err
	}))
	stdlib.try("lastval()", inTransaction(db, func(tx *sql.Tx, r row) error {
		if _, err := tx.Exec(insertPG, r.key, r.target, r.payload); err != nil {
			return err
		}
		var id int64
		return tx.QueryRow(`SELECT lastval()`).Scan(&id)
	}))

	native.tryMany("Batch", func(many []row) error {
		batch := &pgx.Batch{}
		for _, r := range many {
			batch.Queue(insertPG, r.key, r.target, r.body)
		}
		return conn.SendBatch(ctx, batch).Close()
	})
	stdlib.tryMany("one INSERT of many rows", func(many []row) error {
		_, err := db.Exec(`
			INSERT INTO outbox (idempotency_key, channel, target, payload)
			VALUES ($1, 'hooks', $2, $3), ($4, 'hooks', $5, $6), ($7, 'hooks', $8, $9)`,
			many[0].key, many[0].target, many[0].payload, many[1].key, many[1].target, many[1].payload,
			many[2].key, many[2].target, many[2].payload)
		return err
	})
	native.tryMany("unnest of arrays", func(many []row) error {
		var keys, payloads []string
		for _, r := range many {
			keys, payloads = append(keys, r.key), append(payloads, string(r.payload))
		}
		_, err := conn.Exec(ctx, `
			INSERT INTO outbox (idempotency_key, channel, target, payload)
			SELECT key, 'hooks', $1, payload FROM unnest($2::text[], $3::jsonb[]) given (key, payload)`,
			many[0].target, keys, payloads)
		return err
	})
	copyInto := func(table string) func([]row) error {
		return func(many []row) error {
			columns := []string{"idempotency_key", "channel", "target", "payload"}
			_, err := conn.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromSlice(len(many), func(i int) ([]any, error) {
				return []any{many[i].key, "hooks", many[i].target, many[i].body}, nil
			}))
			return err
		}
	}
	native.tryMany("CopyFrom", copyInto("outbox"))
	native.tryMany("CopyFrom into outbox_new", copyInto("outbox_new"))
	libPQ.tryMany("CopyIn", func(many []row) error {
		tx, err := libpq.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		statement, err := tx.Prepare(pq.CopyIn("outbox", "idempotency_key", "channel", "target", "payload"))
		if err != nil {
			return err
		}
		for _, r := range many {
			if _, err := statement.Exec(r.key, "hooks", r.target, string(r.payload)); err != nil {
				return err
			}
		}
		if _, err := statement.Exec(); err != nil {
			return err
		}
		return tx.Commit()
	})

	later := func(availableAt func(time.Duration) any) func(row, time.Duration) error {
		return func(r row, delay time.Duration) error {
			_, err := db.Exec(`
				INSERT INTO outbox (idempotency_key, channel, target, payload, available_at)
				VALUES ($1, 'hooks', $2, $3, $4)`, r.key, r.target, r.payload, availableAt(delay))
			return err
		}
	}
	stdlib.tryLater("time.Now()", later(func(d time.Duration) any { return time.Now().Add(d) }))
	stdlib.tryLater("time.Now().UTC()", later(func(d time.Duration) any { return time.Now().UTC().Add(d) }))
	stdlib.tryLater("the local time as text", later(func(d time.Duration) any {
		return time.Now().Add(d).Format(time.DateTime)
	}))
	stdlib.tryLater("now() + interval", func(r row, delay time.Duration) error {
		_, err := db.Exec(`
			INSERT INTO outbox (idempotency_key, channel, target, payload, available_at)
			VALUES ($1, 'hooks', $2, $3, now() + $4 * interval '1 second')`, r.key, r.target, r.payload, delay.Seconds())
		return err
	})
	stdlib.tryLater("outbox_enqueue, p_delay_seconds", func(r row, delay time.Duration) error {
		_, err := db.Exec(`SELECT outbox_enqueue('hooks', $2, $3, $1, p_delay_seconds => $4)`,
			r.key, r.target, r.payload, delay.Seconds())
		return err
	})

	repeat := func(again string) func(row) error {
		return inTransaction(db, func(tx *sql.Tx, r row) error {
			if _, err := tx.Exec(insertPG, r.key, r.target, r.payload); err != nil {
				return err
			}
			_, err := tx.Exec(again, r.key, r.target, `{"n": 0}`)
			return err
		})
	}
	stdlib.try("a known key: ON CONFLICT (idempotency_key) DO NOTHING", repeat(insertPG+` ON CONFLICT (idempotency_key) DO NOTHING`))
	stdlib.try("a known key: outbox_new, ON CONFLICT (idempotency_key) DO NOTHING",
		repeat(insertViewPG+` ON CONFLICT (idempotency_key) DO NOTHING`))
	stdlib.try("a known key: outbox_enqueue", repeat(enqueuePG))
	stdlib.try("a known key: ON CONFLICT DO UPDATE",
		repeat(insertPG+` ON CONFLICT (idempotency_key) DO UPDATE SET payload = excluded.payload`))
	stdlib.try("a known key: the error is ignored", inTransaction(db, func(tx *sql.Tx, r row) error {
		for range 2 {
			if _, err := tx.Exec(insertPG, r.key, r.target, r.payload); err != nil && !isDuplicate(err) {
				return err
			}
		}
		_, err := tx.Exec(`SELECT 1`)
		return err
	}))
	native.try("a known key: the error is caught at a savepoint", func(r row) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for range 2 {
				err := pgx.BeginFunc(ctx, tx, func(nested pgx.Tx) error {
					_, err := nested.Exec(ctx, insertPG, r.key, r.target, r.body)
					return err
				})
				if err != nil && !isDuplicate(err) {
					return err
				}
			}
			return nil
		})
	})

	with := func(column string, value any) func(row) error {
		return func(r row) error {
			_, err := db.Exec(`
				INSERT INTO outbox (idempotency_key, channel, target, payload, `+column+`)
				VALUES ($1, 'hooks', $2, $3, $4)`, r.key, r.target, r.payload, value)
			return err
		}
	}
	stdlib.try("the zero value of MaxAttempts int16", with("max_attempts", int16(0)))
	stdlib.try("the zero value of ExpiresAt time.Time", with("expires_at", time.Time{}))
	stdlib.try("the zero value of Status string", with("status", ""))
	stdlib.try("the status SUCCESS", with("status", "SUCCESS"))
	stdlib.try("headers as []byte", with("headers", []byte(`{"X-Tenant": "7"}`)))
	stdlib.try("headers as a map", with("headers", map[string]string{"X-Tenant": "7"}))
}

// inTransaction commits what write did, or rolls it back.
func inTransaction(db *sql.DB, write func(*sql.Tx, row) error) func(row) error {
	return func(r row) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := write(tx, r); err != nil {
			return err
		}
		return tx.Commit()
	}
}

func isDuplicate(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "23505"
}
