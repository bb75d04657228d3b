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
	_ "modernc.org/sqlite" // the driver
)

// Options select the database: a SQLite file or a PostgreSQL server.
type Options struct {
	// Path is the SQLite file. It is created if missing; its folder must exist.
	Path string
	// URL is the address of PostgreSQL, postgres://user:password@host/database. It takes precedence over Path.
	URL string
	// Log receives messages about migrations; nil discards them.
	Log *slog.Logger
}

// DB is an open database, safe for concurrent use.
type DB struct {
	dialect dialect
	read    reader
	write   writer
	// file identifies the SQLite file opened; nil on PostgreSQL.
	file os.FileInfo
	path string
	// wal reports changes of a SQLite database; nil on PostgreSQL.
	wal   *walIndex
	cache rowCache
}

// writer executes all writes, so that on SQLite several writes can share one sync to disk.
type writer interface {
	// statement runs one statement. With destinations it scans the returned row, and returns sql.ErrNoRows if there is
	// none; without, it returns the number of rows changed.
	statement(ctx context.Context, query string, a args, dest []any) (int64, error)
	// transaction runs fn in a transaction and commits if fn returns nil. fn may run more than once, and must use only
	// the context and querier passed to it. Bulk transactions do not share a commit with others.
	transaction(ctx context.Context, bulk bool, fn writeFunc) error
	stats() Stats
	close() error
}

// writeFunc is the body of a transaction.
type writeFunc func(ctx context.Context, tx querier) error

// Stats counts writes and commits. On SQLite many writes share one commit.
type Stats struct {
	Writes, Commits int64
}

const (
	busyTimeout    = 5 * time.Second
	connectTimeout = 5 * time.Second
	postgresConns  = 20
	// idleInTransaction is the time after which PostgreSQL ends a transaction that waits for its client. Otherwise a
	// node that is suspended or disconnected would keep its locks, and no other node could take over. It is shorter
	// than a lease and far longer than any pause between two statements.
	idleInTransaction = 5 * time.Second
	// oldestPostgres is the oldest supported major version.
	oldestPostgres = 15
)

// Open opens the database and migrates its schema. Several processes may open the same database at once. It refuses a
// database written by a newer version of Carrel.
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
	if err := createPrivate(path); err != nil {
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
	// walIndex needs the -shm file, which exists while a connection that has read stays open.
	if err := db.Ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", path, err), db.Close())
	}
	db.wal = openWALIndex(path)
	return db, nil
}

// createPrivate creates an empty file with mode 0600 unless it exists; SQLite gives its -wal and -shm files the same
// mode. An existing file must not be opened: closing it would release the POSIX locks that SQLite holds on it in this
// process.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// sqliteDSN returns the driver's URI for a file, with the path escaped.
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
		return nil, fmt.Errorf("open the database: %w", err) // pgx redacts the password
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

// prepareSession configures a new connection, unless the URL sets the parameter itself. It uses SET instead of a
// startup parameter because connection poolers reject startup parameters they do not know.
func prepareSession(ctx context.Context, c *pgx.Conn) error {
	const setting = "idle_in_transaction_session_timeout"
	if _, set := c.Config().RuntimeParams[setting]; set {
		return nil
	}
	_, err := c.Exec(ctx, fmt.Sprintf("SET %s = %d", setting, idleInTransaction.Milliseconds()))
	return err
}

// checkPostgres rejects an unsupported server before anything is changed in it.
func checkPostgres(ctx context.Context, pool *sql.DB) error {
	var number int
	if err := pool.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number); err != nil {
		return err
	}
	return checkVersion(number)
}

// checkVersion takes a server_version_num, such as 150004 for 15.4.
func checkVersion(number int) error {
	if major := number / 10000; major < oldestPostgres {
		return fmt.Errorf("the server is PostgreSQL %d; Carrel needs %d or newer", major, oldestPostgres)
	}
	return nil
}

// Close completes all submitted writes and closes the database. Later calls fail.
func (db *DB) Close() error {
	return errors.Join(db.write.close(), db.read.close(), db.wal.close())
}

// Stats returns the counters since Open.
func (db *DB) Stats() Stats { return db.write.stats() }

// Ping checks that the database can be read. On SQLite it also checks that the path still names the open file: after
// the file was deleted or replaced, writes would be lost silently.
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

// exec runs one write statement and returns the number of rows changed.
func (db *DB) exec(ctx context.Context, query string, a ...any) (int64, error) {
	return db.write.statement(ctx, query, a, nil)
}

// execReturning runs one write statement and scans the row that it returns; without one, the error is sql.ErrNoRows.
func (db *DB) execReturning(ctx context.Context, query string, a args, dest []any) error {
	_, err := db.write.statement(ctx, query, a, dest)
	return err
}

// inTx runs fn in a transaction; see writer.
func (db *DB) inTx(ctx context.Context, fn writeFunc) error {
	return db.write.transaction(ctx, false, fn)
}

// inBulkTx runs fn in a transaction that may take long, such as an import of many documents.
func (db *DB) inBulkTx(ctx context.Context, fn writeFunc) error {
	return db.write.transaction(ctx, true, fn)
}
