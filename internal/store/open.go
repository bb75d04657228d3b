package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver of database/sql

	"carrel/internal/core"
	"carrel/internal/oauth"
	"carrel/internal/source"
	"carrel/internal/store/sqlite"
	"carrel/internal/thread"
)

// Options select the database: a SQLite file or a PostgreSQL server.
type Options struct {
	// Path is the SQLite file. It is created if missing; its folder must exist.
	Path string
	// URL is the address of PostgreSQL, postgres://user:password@host/database. It takes precedence over Path.
	URL string
	// DirectURL is set if URL is a connection pooler in transaction mode. It is the address of PostgreSQL itself, for the
	// migrations and the notifications, which need a session.
	DirectURL string
	// Connections is the size of the PostgreSQL pool; 0 means DefaultConnections.
	Connections int
	// StatementTimeout limits each statement on PostgreSQL, except migrations and bulk transactions; 0 means no limit.
	StatementTimeout time.Duration
	// Bin keeps deleted threads, memories, favourites and documents in the bin of their user, until PruneBin deletes them.
	Bin bool
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
	// url is the address of PostgreSQL, for its programs; empty on SQLite.
	url string
	// bin is Options.Bin.
	bin bool
	// wal reports changes of a SQLite database; nil on PostgreSQL.
	wal *walIndex
	// The rows that are read again and again, such as the agent and thread of a polling client.
	cachedGrants  rowCache[agentKey, core.Grant]
	cachedThreads rowCache[threadKey, thread.Thread]
	cachedSources rowCache[sourcesKey, []source.Source]
	cachedClients rowCache[string, *oauth.Client]
	// The fields below are used on PostgreSQL only.
	shared    sharedReads
	submitted batch[submittedTurn]
	finished  batch[finishedTurn]
	// writes are the outcomes of the latest writes.
	writes writeHealth
	// statements counts the statements of all connections of the pool and of the writer.
	statements atomic.Int64
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
	// Failed counts the writes that the database did not accept; see writeHealth.
	Failed int64
	// Statements counts the statements for reading and writing, with those that begin and end transactions.
	Statements int64
}

// DefaultConnections is the default size of a PostgreSQL pool. Four nodes fit into PostgreSQL's default limit of 100.
const DefaultConnections = 20

const (
	busyTimeout    = 5 * time.Second
	connectTimeout = 5 * time.Second
	// cancelDelay is how long a statement on PostgreSQL goes on after its context has ended. The driver interrupts
	// reads of the connection then. After a slow write it reads in the background, and if that read is interrupted
	// although the statement has completed, the next statement on the connection fails. Most statements end within the
	// delay, which also keeps their connection.
	cancelDelay = 250 * time.Millisecond
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
	if err == nil {
		err = checkMode(path, info)
	}
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if !writable(filepath.Dir(path)) || !writable(path) {
		return openReadOnly(ctx, o, path, info)
	}
	db := &DB{dialect: sqliteDialect, path: path, file: info, bin: o.Bin}
	openReader := func() *sqliteReader {
		return newSQLiteReader(sqliteReaders(), func() (*sqlite.Conn, error) {
			return sqlite.Open(sqliteURI(path), busyTimeout, &db.statements, "query_only = 1")
		})
	}
	reader := openReader()
	files, err := sqliteDialect.migrations()
	var migrating io.Closer
	if err == nil && !isCurrent(ctx, reader, files) {
		if err = reader.close(); err == nil {
			migrating, err = openMigrated(ctx, path, files, o.Log)
		}
		reader = openReader()
	}
	if classify(err) == classDiskFull {
		err = fmt.Errorf("the disk is full; free space on it and try again: %w", err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", path, err), reader.close())
	}
	db.read = reader
	// walIndex needs the -shm file, which exists while a connection that has read stays open. Until then, a migrating
	// connection stays open, because the last connection that is closed checkpoints the log.
	err = db.Ping(ctx)
	if migrating != nil {
		err = errors.Join(err, migrating.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", path, err), reader.close())
	}
	db.wal = openWALIndex(path)
	settings := writerSettings
	if db.wal.frames() >= 0 {
		settings = append(slices.Clone(settings), "wal_autocheckpoint = 0") // see checkpoints
	}
	db.write = newBatchWriter(db.wal, func() (*sqlite.Conn, error) {
		return sqlite.Open(sqliteURI(path, sqlite.GatherLog), busyTimeout, &db.statements, settings...)
	}, func() (*sqlite.Conn, error) {
		return sqlite.Open(sqliteURI(path), busyTimeout, new(atomic.Int64), "synchronous = FULL")
	})
	return db, nil
}

// writerSettings are the settings of the connection that writes. The cache is 8 MB instead of 2 so that writes to
// random pages, such as the rotation of a token, find them in memory. See checkpoints for the number of frames.
var writerSettings = []string{
	"journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1", "secure_delete = 1",
	"wal_autocheckpoint = 4000", "cache_size = -8000",
}

// isCurrent reports whether a database needs no migration, as at almost every start. It spares the connection with
// which they are applied, and an error is left to that one.
func isCurrent(ctx context.Context, reader *sqliteReader, files fs.FS) bool {
	target, err := latestMigration(files)
	if err != nil {
		return false
	}
	var journal string // a restored file is not in WAL mode yet
	if err := get(ctx, reader, "PRAGMA journal_mode", nil, &journal); err != nil || journal != "wal" {
		return false
	}
	var version int64
	err = get(ctx, reader, "SELECT max(version_id) FROM "+versionTable, nil, &version)
	return err == nil && version == target
}

// openMigrated brings a file to the schema of this binary and returns the connection that did it.
func openMigrated(ctx context.Context, path string, files fs.FS, log *slog.Logger) (io.Closer, error) {
	db, err := sql.Open("sqlite", sqliteDSN(path, "_txlock=immediate",
		"_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)", "_pragma=foreign_keys(1)",
		"_pragma=secure_delete(1)")) // see Scrub
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := migrateSQLite(ctx, db, path, files, log); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// sqliteReaders returns the number of connections for queries.
func sqliteReaders() int { return max(4, runtime.NumCPU()) }

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

// sqliteDSN returns the URI of a file for the driver of database/sql.
func sqliteDSN(path string, params ...string) string {
	return sqliteURI(path, append(params, fmt.Sprintf("_pragma=busy_timeout(%d)", busyTimeout.Milliseconds()))...)
}

// sqliteURI returns the URI of a file, with the path escaped.
func sqliteURI(path string, params ...string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	return "file://" + (&url.URL{Path: slashed}).EscapedPath() + "?" + strings.Join(params, "&")
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

// ReadOnly reports whether writes fail because the folder of a SQLite database is read-only.
func (db *DB) ReadOnly() bool {
	_, readOnly := db.write.(readOnlyWriter)
	return readOnly
}

// Stats returns the counters since Open.
func (db *DB) Stats() Stats {
	s := db.write.stats()
	s.Failed, s.Statements = db.writes.failed.Load(), db.statements.Load()
	return s
}

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
	n, err := db.write.statement(ctx, query, a, nil)
	return n, db.writes.record(err)
}

// execReturning runs one write statement and scans the row that it returns; without one, the error is sql.ErrNoRows.
func (db *DB) execReturning(ctx context.Context, query string, a args, dest []any) error {
	_, err := db.write.statement(ctx, query, a, dest)
	return db.writes.record(err)
}

// inTx runs fn in a transaction; see writer.
func (db *DB) inTx(ctx context.Context, fn writeFunc) error {
	return db.writes.record(db.write.transaction(ctx, false, fn))
}

// inBulkTx runs fn in a transaction that may take long, such as an import of many documents.
func (db *DB) inBulkTx(ctx context.Context, fn writeFunc) error {
	return db.writes.record(db.write.transaction(ctx, true, fn))
}
