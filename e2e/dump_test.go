package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx" of database/sql
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"carrel/internal/testkit"
)

// dump is the content of every table of a server's database, by table name.
type dump map[string]string

// volatile are the columns and tables that a running server writes by itself or with every request: the last use of a
// credential, the state of nodes and of their indexes, and searches, which are counted in the background.
var volatile = []string{
	"*.last_used_at", "*.last_used_from", "*.last_used_by", "*.last_seen_at", "*.last_address", "*.last_program",
	"node.*", "task_node.*", "goose_db_version.*", "rate.*", "change_position.*",
	"search_index.*", "lease.*", "usage_day.*", "sqlite_stat1.*",
}

// reader reads whole databases directly, without the server.
type reader struct {
	db     *sql.DB
	tables string
}

func newReader(t *testing.T, s *testkit.Server, database string) reader {
	t.Helper()
	driver, name := "pgx", database
	tables := `SELECT table_name FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1`
	if database == "" {
		driver, name = "sqlite", "file:"+filepath.Join(s.Data,
			"carrel.db")+"?_pragma=query_only(1)&_pragma=busy_timeout(10000)"
		tables = `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1`
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return reader{db: db, tables: tables}
}

// all reads every table.
func (r reader) all(t *testing.T) dump {
	t.Helper()
	out := dump{}
	for _, table := range r.column(t, r.tables) {
		if isVolatile(table, "*") {
			continue
		}
		out[table] = r.table(t, table)
	}
	if len(out) < 20 {
		t.Fatalf("the database has only the tables %v", slices.Sorted(maps.Keys(out)))
	}
	return out
}

func (r reader) column(t *testing.T, query string) []string {
	t.Helper()
	rows, err := r.db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// table reads one table as text, with sorted rows.
func (r reader) table(t *testing.T, name string) string {
	t.Helper()
	rows, err := r.db.QueryContext(context.Background(), `SELECT * FROM "`+name+`"`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		var line strings.Builder
		for i, column := range columns {
			if !isVolatile(name, column) {
				fmt.Fprintf(&line, "%s=%v ", column, *values[i].(*any))
			}
		}
		lines = append(lines, line.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func isVolatile(table, column string) bool {
	return slices.Contains(volatile,
		table+".*") || slices.Contains(volatile, table+"."+column) || slices.Contains(volatile, "*."+column)
}

// changed returns the names of the tables that differ.
func (d dump) changed(later dump) []string {
	var out []string
	for table := range later {
		if d[table] != later[table] {
			out = append(out, table)
		}
	}
	slices.Sort(out)
	return out
}
