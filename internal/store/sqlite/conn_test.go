package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of database/sql, to compare with
	lib "modernc.org/sqlite/lib"
)

func open(t *testing.T, path string, settings ...string) *Conn {
	t.Helper()
	c, err := Open("file:"+path, 0, new(atomic.Int64), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func openNew(t *testing.T) *Conn {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "test.db"), "journal_mode = WAL", "foreign_keys = 1")
}

func exec(t *testing.T, c *Conn, query string, args ...any) int64 {
	t.Helper()
	n, err := c.Exec(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// one returns the only row of a query in new variables of the types of dest.
func one(t *testing.T, c *Conn, query string, args []any, dest ...any) {
	t.Helper()
	n, err := c.Query(query, args, dest, func() error { return nil })
	if err != nil || n != 1 {
		t.Fatalf("%s: %d rows, %v", query, n, err)
	}
}

type (
	word   string
	number int16
	raw    []byte
	truth  bool
)

func TestValuesRoundTrip(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	text := "text"
	for _, test := range []struct{ in, want any }{
		{"", ""},
		{"a text", "a text"},
		{"a\x00b", "a\x00b"},
		{"Übergröße 漢字 🙂", "Übergröße 漢字 🙂"},
		{strings.Repeat("long ", 100_000), strings.Repeat("long ", 100_000)},
		{0, 0},
		{math.MinInt64, int64(math.MinInt64)},
		{int64(math.MaxInt64), int64(math.MaxInt64)},
		{int64(7), 7},
		{2.5, 2.5},
		{int64(3), 3.0},
		{math.Inf(1), math.Inf(1)},
		{true, true},
		{false, false},
		{1, true},
		{[]byte{0, 1, 255}, []byte{0, 1, 255}},
		{[]byte{}, []byte{}},
		{[]byte(nil), []byte(nil)},
		{nil, []byte(nil)},
		{"bytes", []byte("bytes")},
		{nil, sql.NullInt64{}},
		{int64(5), sql.NullInt64{Int64: 5, Valid: true}},
		{nil, sql.NullString{}},
		{"", sql.NullString{Valid: true}},
		{"x", sql.NullString{String: "x", Valid: true}},
		{nil, sql.NullFloat64{}}, // by sql.Scanner
		{1.5, sql.NullFloat64{Float64: 1.5, Valid: true}},
		{true, sql.NullBool{Bool: true, Valid: true}},
		{int64(12), "12"},
		// Types with another name, pointers and values of other packages.
		{word("w"), word("w")},
		{number(-3), number(-3)},
		{raw("r"), raw("r")},
		{truth(true), truth(true)},
		{&text, "text"},
		{(*string)(nil), sql.NullString{}},
		{sql.NullString{String: "v", Valid: true}, "v"},
		{uint32(9), 9},
		{time.Second, int64(time.Second)},
	} {
		dest := reflect.New(reflect.TypeOf(test.want))
		one(t, c, "SELECT $1", []any{test.in}, dest.Interface())
		if got := dest.Elem().Interface(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%T %.20v became %T %.20v, want %.20v", test.in, test.in, got, got, test.want)
		}
	}
}

func TestValuesThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	for _, test := range []struct{ in, dest any }{
		{nil, new(string)},
		{nil, new(int64)},
		{nil, new(int)},
		{nil, new(bool)},
		{nil, new(float64)},
		{nil, new(word)},
		{"12", new(int64)},
		{"12", new(int)},
		{1.5, new(int64)},
		{"x", new(bool)},
		{"x", new(float64)},
		{"x", new(sql.NullInt64)},
		{70_000, new(number)},
		{1, new(time.Time)},
		{1, "not a pointer"},
		{1, (*word)(nil)},
		{time.Now(), new(string)},
		{uint64(math.MaxUint64), new(int64)},
		{struct{}{}, new(string)},
	} {
		_, err := c.Query("SELECT $1", []any{test.in}, []any{test.dest}, func() error { return nil })
		if err == nil {
			t.Errorf("%T %v was stored in %T", test.in, test.in, test.dest)
		}
	}
	var s string
	one(t, c, "SELECT 'still usable'", nil, &s)
}

func TestParametersAreNumbered(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	for query, want := range map[string]string{
		"SELECT $1 || $2":                 "AB",
		"SELECT $2 || $1":                 "BA",
		"SELECT $2 || $1 || $2 || $1":     "BABA",
		"SELECT '$1' || $2 || ' ?1 $2 ?'": "$1B ?1 $2 ?",
		"SELECT $1 -- and $2":             "A",
		"SELECT $1 ; \n":                  "A",
	} {
		for range 2 { // the second time with the prepared statement
			var got string
			one(t, c, query, []any{"A", "B"}, &got)
			if got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
	}
	for _, query := range []string{"SELECT $3", "SELECT $1, ?", "SELECT :name", "SELECT $x", "SELECT $0"} {
		if _, err := c.Exec(query, "A", "B"); err == nil {
			t.Errorf("%s was run", query)
		}
	}
}

func TestRowsAreCounted(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	exec(t, c, "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
	if n := exec(t, c, "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')"); n != 3 {
		t.Errorf("inserted %d", n)
	}
	if n := exec(t, c, "UPDATE t SET b = 'u' WHERE a > $1", 1); n != 2 {
		t.Errorf("updated %d", n)
	}
	if n := exec(t, c, "UPDATE t SET b = 'u' WHERE a > $1", 9); n != 0 {
		t.Errorf("updated %d", n)
	}
	if n := exec(t, c, "SELECT a FROM t"); n != 0 {
		t.Errorf("a query changed %d rows", n)
	}
	if n := exec(t, c, "DELETE FROM t WHERE a = 1 RETURNING b"); n != 1 {
		t.Errorf("deleted %d", n)
	}
	var got []int
	var a int
	n, err := c.Query("UPDATE t SET b = b RETURNING a", nil, []any{&a}, func() error {
		got = append(got, a)
		return nil
	})
	if err != nil || n != 2 || !reflect.DeepEqual(got, []int{2, 3}) {
		t.Errorf("returned %v, %d, %v", got, n, err)
	}
	if _, err := c.Query("SELECT a, b FROM t", nil, []any{&a}, func() error { return nil }); err == nil {
		t.Error("a column without a destination was ignored")
	}
}

func TestStatementsMayBeNested(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	exec(t, c, "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
	exec(t, c, "INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
	const query = "SELECT b FROM t WHERE a >= $1 AND b <> $2 ORDER BY a"
	var seen []string
	var outer string
	_, err := c.Query(query, []any{1, "nothing"}, []any{&outer}, func() error {
		var inner string
		_, err := c.Query(query, []any{3, strings.Repeat("x", 1000)}, []any{&inner}, func() error {
			exec(t, c, "UPDATE t SET b = b WHERE a = $1", 1)
			seen = append(seen, outer+" "+inner)
			return nil
		})
		return err
	})
	if want := []string{"one three", "two three", "three three"}; err != nil || !reflect.DeepEqual(seen, want) {
		t.Errorf("saw %q, %v", seen, err)
	}
	if n := len(c.statements); n > 6 {
		t.Errorf("%d statements are kept", n)
	}
}

func TestEndedQueriesLeaveTheConnectionUsable(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	exec(t, c, "CREATE TABLE t (a INTEGER PRIMARY KEY)")
	exec(t, c, "INSERT INTO t VALUES (1), (2), (3)")
	var a int
	stop := errors.New("stop")
	n, err := c.Query("SELECT a FROM t", nil, []any{&a}, func() error { return stop })
	if n != 1 || !errors.Is(err, stop) {
		t.Errorf("%d rows, %v", n, err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = c.Query("SELECT a FROM t", nil, []any{&a}, func() error { panic("in a row") })
	}()
	// An open statement would keep its snapshot, and a checkpoint would not complete.
	exec(t, c, "INSERT INTO t VALUES (4)")
	var busy, log, done int
	one(t, c, "PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, &log, &done)
	if busy != 0 {
		t.Error("a statement is still open")
	}
	one(t, c, "SELECT count(*) FROM t", nil, &a)
	if a != 4 {
		t.Errorf("%d rows", a)
	}
}

func TestErrorsHaveTheirCode(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	exec(t, c, "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE, c INTEGER REFERENCES t (a))")
	exec(t, c, "INSERT INTO t VALUES (1, 'x', 1)")
	for query, want := range map[string]int{
		"INSERT INTO t VALUES (1, 'y', 1)": lib.SQLITE_CONSTRAINT_PRIMARYKEY,
		"INSERT INTO t VALUES (2, 'x', 1)": lib.SQLITE_CONSTRAINT_UNIQUE,
		"INSERT INTO t VALUES (2, 'y', 9)": lib.SQLITE_CONSTRAINT_FOREIGNKEY,
		"SELECT nothing FROM t":            lib.SQLITE_ERROR,
		"no statement":                     lib.SQLITE_ERROR,
	} {
		_, err := c.Exec(query)
		var failure *Error
		if !errors.As(err, &failure) || failure.Code() != want || !strings.Contains(err.Error(), strconv.Itoa(want)) {
			t.Errorf("%s: %v, want the code %d", query, err, want)
		}
	}
	for _, query := range []string{"", " ; ", "SELECT 1; SELECT 2", "DELETE FROM t; DROP TABLE t"} {
		if _, err := c.Exec(query); err == nil {
			t.Errorf("%q was run", query)
		}
	}
	if n := exec(t, c, "UPDATE t SET b = 'z'"); n != 1 {
		t.Errorf("%d rows are left", n)
	}
	_, err := Open("file:"+filepath.Join(t.TempDir(), "missing", "test.db"), 0, new(atomic.Int64))
	var failure *Error
	if !errors.As(err, &failure) || failure.Code()&0xff != lib.SQLITE_CANTOPEN {
		t.Errorf("opened a missing folder: %v", err)
	}
	if _, err := Open("file:"+filepath.Join(t.TempDir(), "new.db"), 0, new(atomic.Int64), "no setting ="); err == nil {
		t.Error("opened with a setting that is none")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Exec("SELECT 1"); err == nil {
		t.Error("a closed connection ran a statement")
	}
}

func TestLocksOfOtherConnections(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	first, second := open(t, path, "journal_mode = WAL"), open(t, path)
	exec(t, first, "CREATE TABLE t (a TEXT)")
	exec(t, first, "BEGIN IMMEDIATE")
	exec(t, first, "INSERT INTO t VALUES ('first')")
	_, err := second.Exec("BEGIN IMMEDIATE")
	var failure *Error
	if !errors.As(err, &failure) || failure.Code()&0xff != lib.SQLITE_BUSY {
		t.Errorf("began twice: %v", err)
	}
	var n int
	one(t, second, "SELECT count(*) FROM t", nil, &n)
	if n != 0 {
		t.Errorf("saw %d rows before the commit", n)
	}
	exec(t, first, "COMMIT")
	one(t, second, "SELECT count(*) FROM t", nil, &n)
	if n != 1 {
		t.Errorf("saw %d rows after the commit", n)
	}
	exec(t, first, "ALTER TABLE t ADD COLUMN b TEXT NOT NULL DEFAULT 'added'") // prepared statements follow
	one(t, second, "SELECT count(*) FROM t", nil, &n)
	var a, b string
	one(t, second, "SELECT * FROM t", nil, &a, &b)
	if a != "first" || b != "added" {
		t.Errorf("read %q, %q", a, b)
	}
}

func TestTextsOfEarlierRowsStayTheSame(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	exec(t, c, "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c BLOB)")
	var want []string
	for i := range 100 {
		text := fmt.Sprintf("row %d %s", i/3, strings.Repeat("x", i/3)) // three equal texts after one another
		want = append(want, text)
		exec(t, c, "INSERT INTO t VALUES ($1, $2, $3)", i, text, []byte(text))
	}
	for range 3 {
		var text string
		var blob []byte
		var texts, blobs []string
		var kept [][]byte
		_, err := c.Query("SELECT b, c FROM t ORDER BY a", nil, []any{&text, &blob}, func() error {
			texts, kept = append(texts, text), append(kept, blob)
			return nil
		})
		for _, b := range kept {
			blobs = append(blobs, string(b))
		}
		if err != nil || !reflect.DeepEqual(texts, want) || !reflect.DeepEqual(blobs, want) {
			t.Fatalf("read %q and %q, %v", texts, blobs, err)
		}
	}
}

// Random statements have the same results as with the driver of database/sql.
func TestResultsEqualThoseOfTheDriver(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	other, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "other.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	other.SetMaxOpenConns(1)
	run := func(query string, args ...any) {
		t.Helper()
		got, err := c.Exec(query, args...)
		result, otherErr := other.Exec(query, args...)
		if (err == nil) != (otherErr == nil) {
			t.Fatalf("%s %v: %v, and %v", query, args, err, otherErr)
		}
		if err == nil && strings.HasPrefix(query, "CREATE") {
			return
		}
		if err == nil {
			if want, _ := result.RowsAffected(); got != want {
				t.Fatalf("%s %v: %d rows, and %d", query, args, got, want)
			}
		}
	}
	run("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c BLOB, d REAL)")
	random := rand.New(rand.NewPCG(1, 2))
	value := func() any {
		text := strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(40_000)>>random.IntN(16))
		return []any{nil, text, []byte(text), random.Int64(), random.Float64(), random.IntN(2) == 0}[random.IntN(6)]
	}
	for range 500 {
		switch key := random.IntN(100); random.IntN(4) {
		case 0, 1:
			run("INSERT INTO t VALUES ($1, $2, $3, $4) ON CONFLICT (a) DO UPDATE SET b = $4, c = $2",
				key, value(), value(), value())
		case 2:
			run("DELETE FROM t WHERE a BETWEEN $1 AND $1 + 2", key)
		case 3:
			run("INSERT INTO t (b, a) VALUES ($2, $1)", key, value())
		}
	}
	const all = "SELECT a, b, c, d FROM t ORDER BY a"
	var got, want []string
	d := []any{new(int64), new(sql.NullString), new(sql.Null[any]), new(sql.Null[any])}
	_, err = c.Query(all, nil, d, func() error {
		got = append(got, fmt.Sprintf("%d %v %v %v", *d[0].(*int64), d[1], d[2], d[3]))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := other.Query(all)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(d...); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%d %v %v %v", *d[0].(*int64), d[1], d[2], d[3]))
	}
	if err := rows.Err(); err != nil || len(want) == 0 || len(got) != len(want) {
		t.Fatalf("read %d rows, and %d, %v", len(got), len(want), err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("read %.300s, and %.300s", got[i], want[i])
		}
	}
}

func TestConnectionsOfManyGoroutines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	writer := open(t, path, "journal_mode = WAL")
	exec(t, writer, "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
	var running sync.WaitGroup
	for range 4 {
		reader := open(t, path, "query_only = 1")
		running.Go(func() {
			for range 200 {
				var a int
				var b string
				_, err := reader.Query("SELECT a, b FROM t WHERE a % $1 = 0", []any{3}, []any{&a, &b}, func() error {
					if want := strings.Repeat("x", a); b != want {
						return fmt.Errorf("row %d has %d bytes", a, len(b))
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 200 {
		exec(t, writer, "INSERT INTO t VALUES ($1, $2)", i, strings.Repeat("x", i))
	}
	running.Wait()
	if _, err := open(t, path, "query_only = 1").Exec("DELETE FROM t"); err == nil {
		t.Error("a connection for queries deleted rows")
	}
}

// BenchmarkQuery reads fifty rows of three texts and two numbers.
func BenchmarkQuery(b *testing.B) {
	c, err := Open("file::memory:", 0, new(atomic.Int64))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = c.Exec("CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT, c TEXT, d INTEGER, e INTEGER) WITHOUT ROWID")
	for i := range 50 {
		id, text := fmt.Sprintf("id%020d", i), strings.Repeat("x", 200)
		_, _ = c.Exec("INSERT INTO t VALUES ($1, $2, 'active', $3, $3)", id, text, i)
	}
	var t1, t2, t3 string
	var d, e int64
	args, dest := []any{"id"}, []any{&t1, &t2, &t3, &d, &e}
	b.ReportAllocs()
	for b.Loop() {
		n, err := c.Query("SELECT a, b, c, d, e FROM t WHERE a > $1", args, dest, func() error { return nil })
		if n != 50 || err != nil {
			b.Fatal(n, err)
		}
	}
}
