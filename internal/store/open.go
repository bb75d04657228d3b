package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the engine "sqlite" of database/sql
)

// Options say which database to open: a SQLite file, or a PostgreSQL server.
type Options struct {
	// Path is the SQLite file; it is made when it is not there. Its folder must be.
	Path string
	// URL is PostgreSQL's address, postgres://user:password@host/database. It wins over Path.
	URL string
	// Log hears about migrations; nil means silence.
	Log *slog.Logger
}

// DB is an open database, safe for use by many goroutines.
type DB struct {
	dialect dialect
	read    reader
	write   writer
	// file is the SQLite file as it was when opened; nil on PostgreSQL.
	file os.FileInfo
	path string
	// changes says when a SQLite database was written to.
	changes *changes
	recent  recent
}

// writer carries out writes. All of them go through it, so that SQLite's can share a sync to disk.
type writer interface {
	// one runs a single statement. With destinations it reads the row that the statement returns; none is
	// sql.ErrNoRows. It returns the number of rows changed when there are no destinations.
	one(ctx context.Context, query string, a args, dest []any) (int64, error)
	// all runs fn in a transaction, which is kept when fn returns nil. fn may run more than once; it must use
	// its own context and querier and nothing else of the store. Bulk work does not make others wait for it.
	all(ctx context.Context, bulk bool, fn writeFunc) error
	stats() Stats
	close() error
}

// writeFunc is the body of a transaction.
type writeFunc func(ctx context.Context, tx querier) error

// Stats counts writes and the commits that made them durable; on SQLite many writes share one.
type Stats struct {
	Writes, Commits int64
}

const (
	busyTimeout    = 5 * time.Second
	connectTimeout = 5 * time.Second
	postgresConns  = 20
	// idleInTransaction is how long a node may stop in the middle of a transaction before PostgreSQL ends it. A node
	// that is paused or cut off from the network would otherwise keep its locks, and nobody could take over from it.
	// It is less than a lease, and far more than any transaction of ours waits between two statements.
	idleInTransaction = 5 * time.Second
	// oldestPostgres is the first major version that is supported.
	oldestPostgres = 15
)

// Open opens the database, brings its schema up to date and returns it. Any number of processes may open the same
// database at the same time. A database that a newer Carrel has written is refused.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.URL != "" {
		return openPostgres(ctx, o)
	}
	if o.Path == "" {
		return nil, errors.New("open the database: neither a file nor a URL is given")
	}
	return openSQLite(ctx, o)
}

func openSQLite(ctx context.Context, o Options) (_ *DB, err error) {
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := makePrivate(path); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	owner, err := sql.Open("sqlite", sqliteDSN(path, "_txlock=immediate",
		"_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)", "_pragma=foreign_keys(1)",
		"_pragma=secure_delete(1)")) // see Scrub
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	owner.SetMaxOpenConns(1)
	files, err := sqliteDialect.migrations()
	if err == nil {
		err = migrateSQLite(ctx, owner, path, files, o.Log)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", path, err), owner.Close())
	}
	pool, err := sql.Open("sqlite", sqliteDSN(path, "_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", err), owner.Close())
	}
	readers := max(4, runtime.NumCPU())
	pool.SetMaxOpenConns(readers)
	pool.SetMaxIdleConns(readers)
	db := &DB{
		dialect: sqliteDialect, path: path, file: info,
		read: newSQLiteReader(pool), write: newBatchWriter(owner),
	}
	// A connection that has read and stays open keeps the log's index in place, which changes looks at.
	if err := db.Ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", path, err), db.Close())
	}
	db.changes = openChanges(path)
	return db, nil
}

// makePrivate makes an empty file that only its owner can read, unless there is one; SQLite gives the files beside it
// the same mode. One that is there must not even be opened: closing it again would take away the locks that SQLite
// has on it in this process.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// sqliteDSN is the driver's name for a file: a URI, in which the path is escaped.
func sqliteDSN(path string, params ...string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	params = append(params, fmt.Sprintf("_pragma=busy_timeout(%d)", busyTimeout.Milliseconds()))
	return "file://" + (&url.URL{Path: slashed}).EscapedPath() + "?" + strings.Join(params, "&")
}

func openPostgres(ctx context.Context, o Options) (*DB, error) {
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err) // the library hides the password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "carrel"
	}
	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(prepareSession))
	pool.SetMaxOpenConns(postgresConns)
	pool.SetMaxIdleConns(postgresConns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	files, err := postgresDialect.migrations()
	if err == nil {
		err = checkPostgres(ctx, pool)
	}
	if err == nil {
		err = migratePostgres(ctx, pool, files, o.Log)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", err), pool.Close())
	}
	p := &postgres{pool: pool}
	return &DB{dialect: postgresDialect, read: p, write: p}, nil
}

// prepareSession sets what every connection needs, unless the URL says otherwise. It is a statement and not a parameter
// of the connection because poolers between us and the server refuse parameters that they do not know.
func prepareSession(ctx context.Context, c *pgx.Conn) error {
	const setting = "idle_in_transaction_session_timeout"
	if _, said := c.Config().RuntimeParams[setting]; said {
		return nil
	}
	_, err := c.Exec(ctx, fmt.Sprintf("SET %s = %d", setting, idleInTransaction.Milliseconds()))
	return err
}

// checkPostgres refuses a server that is too old before anything is done to it.
func checkPostgres(ctx context.Context, pool *sql.DB) error {
	var number int
	if err := pool.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number); err != nil {
		return err
	}
	return checkVersion(number)
}

// checkVersion takes server_version_num: 150004 is 15.4.
func checkVersion(number int) error {
	if major := number / 10000; major < oldestPostgres {
		return fmt.Errorf("the server is PostgreSQL %d; Carrel needs %d or newer", major, oldestPostgres)
	}
	return nil
}

// Close finishes the writes that were handed in and closes the database. Later calls fail.
func (db *DB) Close() error {
	return errors.Join(db.write.close(), db.read.close(), db.changes.close())
}

// Stats returns what was written since the database was opened.
func (db *DB) Stats() Stats { return db.write.stats() }

// Ping returns nil when the database can be read. For SQLite the file must also still be there: a server whose file
// was deleted or replaced would otherwise go on writing to nowhere.
func (db *DB) Ping(ctx context.Context) error {
	if db.file != nil {
		now, err := os.Stat(db.path)
		if err != nil {
			return fail("check the database", "database", err)
		}
		if !os.SameFile(db.file, now) {
			return fmt.Errorf("check the database: %s is not the file that was opened", db.path)
		}
	}
	var one int
	err := get(ctx, db.read, "SELECT count(*) FROM app_user WHERE id = ''", nil, &one)
	return fail("check the database", "database", err)
}

// one runs a single writing statement.
func (db *DB) one(ctx context.Context, query string, a ...any) (int64, error) {
	return db.write.one(ctx, query, a, nil)
}
