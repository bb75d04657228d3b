package store

import (
	"context"
	"database/sql"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is what the engines really differ in. Everything else is one text: both take $n for parameters, RETURNING,
// ON CONFLICT and row values.
type dialect struct {
	name  string
	goose goose.Dialect
	// listHead and listTail enclose a parameter with a JSON array of strings and make it the right side of IN.
	listHead, listTail string
	// rowsHead and rowsTail enclose the same and make it rows of a value and its number, n, from 0.
	rowsHead, rowsTail string
	// lock ends a SELECT whose rows the transaction is about to change. SQLite has one writer and needs none.
	lock string
	// hasTable asks whether the database has the table.
	hasTable string
}

var (
	sqliteDialect = dialect{
		name: "sqlite", goose: goose.DialectSQLite3,
		listHead: "(SELECT value FROM json_each(", listTail: "))",
		rowsHead: "(SELECT value, key AS n FROM json_each(", rowsTail: "))",
		hasTable: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = $1",
	}
	// NO KEY: rows that refer to the locked one can still be inserted meanwhile.
	postgresDialect = dialect{
		name: "postgres", goose: goose.DialectPostgres,
		listHead: "(SELECT jsonb_array_elements_text(", listTail: "::jsonb))",
		rowsHead: "(SELECT value, place - 1 AS n FROM jsonb_array_elements_text(",
		rowsTail: "::jsonb) WITH ORDINALITY AS listed (value, place))",
		lock:     " FOR NO KEY UPDATE",
		hasTable: "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)",
	}
)

// in returns the right side of IN for a parameter that holds a JSON array of strings.
func (d dialect) in(param string) string { return d.listHead + param + d.listTail }

// rows returns a table of the values of a parameter that holds a JSON array of strings, each with its number n.
func (d dialect) rows(param string) string { return d.rowsHead + param + d.rowsTail }

// migrations returns the engine's folder.
func (d dialect) migrations() (fs.FS, error) { return fs.Sub(migrationFiles, "migrations/"+d.name) }

// positional writes the parameters of a statement as plain question marks if they stand in it in order, each once.
// SQLite's driver then takes them as they come; $n it looks up by name, for each parameter of each call. No statement
// of ours has a dollar in a literal.
func positional(query string) string {
	var out strings.Builder
	next := 1
	for rest := query; ; {
		before, after, found := strings.Cut(rest, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		number := strconv.Itoa(next)
		end := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(after)
		}
		if after[:end] != number {
			return query
		}
		out.WriteByte('?')
		next++
		rest = after[end:]
	}
}

// args are the parameters of a statement.
type args = []any

// querier runs statements: on the pool for reading, or inside a write.
type querier interface {
	// exec runs a statement and returns the number of rows that it changed.
	exec(ctx context.Context, query string, a ...any) (int64, error)
	// each runs a statement, scans every row that it returns into the same destinations, and calls row after each.
	each(ctx context.Context, query string, a args, dest []any, row func() error) error
}

// get reads the only row of a query; none is sql.ErrNoRows.
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

// walk goes through the rows of a query to their end and returns how many it saw, also when it fails at one.
func walk(rows *sql.Rows, dest []any, row func() error) (seen int, err error) {
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	for rows.Next() {
		seen++
		if err := rows.Scan(dest...); err != nil {
			return seen, err
		}
		if err := row(); err != nil {
			return seen, err
		}
	}
	return seen, rows.Err()
}
