package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
)

// Inspection describes a database without opening it for use, so that nothing is migrated or written.
type Inspection struct {
	// Engine is "sqlite" or "postgres", and Version that of the engine.
	Engine, Version string
	// Schema is the version of the schema, 0 if the database is empty, and Target the version that this binary uses.
	Schema, Target int64
	// ReadOnly is set if PostgreSQL is a standby or accepts only reading transactions.
	ReadOnly bool
	// ClockAhead is how far the clock of the server is ahead of this machine's; 0 on SQLite.
	ClockAhead time.Duration
}

// Inspect describes the database of the options.
func Inspect(ctx context.Context, o Options) (_ Inspection, err error) {
	db, d, err := openForInspection(o)
	if err != nil {
		return Inspection{}, fmt.Errorf("open the database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	i := Inspection{Engine: d.name}
	files, err := d.migrations()
	if err != nil {
		return i, err
	}
	m, err := newMigration(d, files, slog.New(slog.DiscardHandler))
	if err != nil {
		return i, err
	}
	i.Target = m.target
	if i.Schema, err = m.version(ctx, db); err != nil {
		return i, fmt.Errorf("read the schema's version: %w", err)
	}
	if d.name == sqliteDialect.name {
		return i, db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&i.Version)
	}
	before := time.Now()
	var millis int64
	err = db.QueryRowContext(ctx, `SELECT current_setting('server_version'),
		pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
		(extract(epoch FROM clock_timestamp()) * 1000)::bigint`).Scan(&i.Version, &i.ReadOnly, &millis)
	after := time.Now()
	// The server read its clock between the two times.
	i.ClockAhead = time.UnixMilli(millis).Sub(before.Add(after.Sub(before) / 2))
	return i, err
}

// CheckIntegrity returns the problems that SQLite finds in its file, up to ten. PostgreSQL has no such check; its pages
// are verified when they are read.
func CheckIntegrity(ctx context.Context, o Options) (problems []string, err error) {
	if o.URL != "" {
		return nil, nil
	}
	db, _, err := openForInspection(o)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "PRAGMA quick_check(10)")
	if err != nil {
		return nil, fmt.Errorf("check the database: %w", err)
	}
	var line string
	err = scanRows(rows, []any{&line}, func() error {
		if line != "ok" {
			problems = append(problems, line)
		}
		return nil
	})
	return problems, err
}

// openForInspection opens a database for reading.
func openForInspection(o Options) (*sql.DB, dialect, error) {
	if o.URL == "" {
		db, err := sql.Open("sqlite", sqliteDSN(o.Path, "_pragma=query_only(1)", "mode=rw"))
		return db, sqliteDialect, err
	}
	config, err := postgresConfig(o.URL)
	if err != nil {
		return nil, postgresDialect, err
	}
	if o.DirectURL != "" {
		config = pooledConfig(config)
	}
	return stdlib.OpenDB(*config), postgresDialect, nil
}
