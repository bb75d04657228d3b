// Command migrate creates a SQLite database with the current schema. Package testkit cannot do so itself, because the
// tests of the store import it.
package main

import (
	"context"
	"errors"
	"log"
	"os"

	"carrel/internal/store"
)

func main() {
	if err := migrate(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func migrate(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: migrate file")
	}
	db, err := store.Open(ctx, store.Options{Path: args[0]})
	if err != nil {
		return err
	}
	return db.Close()
}
