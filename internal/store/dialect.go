package store

import (
	"context"
	"database/sql"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// dialect holds the differences between the engines. All other SQL is shared: both support $n parameters, RETURNING,
// ON CONFLICT and row values.
type dialect struct {
	name  string
	goose goose.Dialect
	// listHead and listTail turn a parameter holding a JSON array of strings into the right side of IN.
	listHead, listTail string
	// rowsHead and rowsTail turn the same parameter into rows of value and n, the index from 0.
	rowsHead, rowsTail string
	// lock is appended to a SELECT whose rows the transaction will change. SQLite has a single writer and needs none.
	lock string
	// hasTable is a query that counts the tables with a name.
	hasTable string
}

var (
	sqliteDialect = dialect{
		name: "sqlite", goose: goose.DialectSQLite3,
		listHead: "(SELECT value FROM json_each(", listTail: "))",
		rowsHead: "(SELECT value, key AS n FROM json_each(", rowsTail: "))",
		hasTable: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = $1",
	}
	// NO KEY, so that rows that reference the locked row can still be inserted.
	postgresDialect = dialect{
		name: "postgres", goose: goose.DialectPostgres,
		// See oneRow. With the hundred rows that PostgreSQL expects of a list, it would join a table of ten thousand rows as
		// a whole.
		listHead: "(SELECT value FROM jsonb_array_elements_text(",
		listTail: "::jsonb) AS listed (value) WHERE " + oneRow("value") + ")",
		rowsHead: "(SELECT value, place - 1 AS n FROM jsonb_array_elements_text(",
		rowsTail: "::jsonb) WITH ORDINALITY AS listed (value, place) WHERE " + oneRow("value") + ")",
		lock:     " FOR NO KEY UPDATE",
		hasTable: "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)",
	}
)

// in returns the right side of IN for a parameter holding a JSON array of strings.
func (d dialect) in(param string) string { return d.listHead + param + d.listTail }

// rows returns a table of value and index n for a parameter holding a JSON array of strings.
func (d dialect) rows(param string) string { return d.rowsHead + param + d.rowsTail }

// migrations returns the folder of the engine's migrations.
func (d dialect) migrations() (fs.FS, error) { return fs.Sub(migrationFiles, "migrations/"+d.name) }

// args are the parameters of a statement.
type args = []any

// querier runs statements, on the read pool or inside a write.
type querier interface {
	// exec runs a statement and returns the number of rows changed.
	exec(ctx context.Context, query string, a ...any) (int64, error)
	// each runs a query, scans every row into the same destinations, and calls row after each.
	each(ctx context.Context, query string, a args, dest []any, row func() error) error
}

// get scans the only row of a query, and returns sql.ErrNoRows if there is none.
func get(ctx context.Context, q querier, query string, a args, dest ...any) error {
	found := false
	err := q.each(ctx, query, a, dest, func() error {
		found = true
		return nil
	})
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

// scanRows scans all rows of a query.
func scanRows(rows *sql.Rows, dest []any, row func() error) (err error) {
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := row(); err != nil {
			return err
		}
	}
	return rows.Err()
}
