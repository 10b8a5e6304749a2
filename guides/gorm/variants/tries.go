// Variants of natural code with gorm. Each prints one line of JSON: what became of it.
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

// try writes one row.
func try(name string, write func(row) error) {
	r := newRow()
	report(name, r.key, r.body, 0, write(r))
}

// tryLater writes a row that is due in ten minutes.
func tryLater(name string, write func(row, time.Duration) error) {
	const delay = 10 * time.Minute
	r := newRow()
	report(name, r.key, r.body, delay, write(r, delay))
}

// tryMany writes three rows at once.
func tryMany(name string, write func([]row) error) {
	many := []row{newRow(), newRow(), newRow()}
	err := write(many)
	for i, r := range many {
		report(fmt.Sprintf("%s: row %d", name, i+1), r.key, r.body, 0, err)
	}
}

func report(name, key string, body any, delay time.Duration, err error) {
	line := map[string]any{"try": name, "key": key}
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
