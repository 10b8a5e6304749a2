// Variants of natural code with pgx, lib/pq and go-sql-driver/mysql. Each prints one line of JSON: what became of it.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"
)

// row is what a variant writes.
type row struct {
	key     string
	target  string
	body    map[string]any
	payload []byte // the body as JSON
}

var rows int

func newRow() row {
	rows++
	body := map[string]any{"n": rows, "customer": "Jürgen 李 🎉"}
	payload, err := json.Marshal(body)
	if err != nil {
		log.Fatal(err)
	}
	return row{fmt.Sprintf("try-%d", rows), os.Getenv("TARGET"), body, payload}
}

// A stack is what the variants are written with.
type stack string

// try writes one row.
func (s stack) try(name string, write func(row) error) {
	r := newRow()
	s.report(name, r.key, r.body, 0, write(r))
}

// tryLater writes a row that is due in ten minutes.
func (s stack) tryLater(name string, write func(row, time.Duration) error) {
	const delay = 10 * time.Minute
	r := newRow()
	s.report(name, r.key, r.body, delay, write(r, delay))
}

// tryBody writes one row whose body is not an object.
func (s stack) tryBody(name string, body any, write func(row) error) {
	r := newRow()
	s.report(name, r.key, body, 0, write(r))
}

// tryMany writes three rows at once.
func (s stack) tryMany(name string, write func([]row) error) {
	many := []row{newRow(), newRow(), newRow()}
	err := write(many)
	for i, r := range many {
		s.report(fmt.Sprintf("%s: row %d", name, i+1), r.key, r.body, 0, err)
	}
}

func (s stack) report(name, key string, body any, delay time.Duration, err error) {
	line := map[string]any{"stack": s, "try": name, "key": key}
	if err != nil {
		words := []rune(strings.Join(strings.Fields(err.Error()), " "))
		line["refused"] = string(words[:min(len(words), 200)])
	} else {
		line["body"] = body
		if delay > 0 {
			line["delay"] = delay.Seconds()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	if os.Getenv("GUIDE_SERVER") == "postgres" {
		postgres()
	} else {
		mySQL()
	}
}
