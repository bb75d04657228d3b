package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"carrel/internal/backup"
	"carrel/internal/lazyregexp"
)

// backupLock is the key of the advisory lock of backups.
const backupLock = 0x63617272656c // "carrel"

// lockBackup holds an advisory lock in a transaction, which also works behind a connection pooler. The transaction has
// no snapshot while it waits, so it does not hold vacuum back.
func (p *postgres) lockBackup(ctx context.Context) (unlock func() error, err error) {
	tx, err := p.pool.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, fail("lock backups", "backup", err)
	}
	var locked bool
	_, err = tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0")
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(backupLock)).Scan(&locked)
	}
	if err == nil && !locked {
		err = errBackupRunning
	}
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx.Rollback, nil
}

// dumpTo runs pg_dump with the snapshot of a transaction that also lists the original files.
func (p *postgres) dumpTo(
	ctx context.Context, address, path string, original func(backup.Original) error,
) (info backup.DumpInfo, err error) {
	tool, err := findTool(ctx, p.pool, "pg_dump")
	if err != nil {
		return info, err
	}
	tx, err := p.pool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return info, fail("copy the database", "database", err)
	}
	defer func() { _ = tx.Rollback() }() // it has read only
	var snapshot, schema string
	_, err = tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0")
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT pg_export_snapshot(), current_schema()").Scan(&snapshot, &schema)
	}
	if err != nil {
		return info, fail("copy the database", "database", err)
	}
	if err := createPrivate(path); err != nil { // pg_dump keeps the mode of an existing file
		return info, err
	}
	err = runTool(ctx, address, tool, "--format=custom", "--no-owner", "--no-privileges", "--snapshot="+snapshot,
		"--schema="+quoteIdentifier(schema), "--file="+path)
	if err != nil {
		return info, err
	}
	info.Engine = backup.EnginePostgres
	return info, describeDump(ctx, tx, &info, original)
}

// CheckEmptyPostgres fails if the schema of a database has tables.
func CheckEmptyPostgres(ctx context.Context, address string) (err error) {
	pool, err := openPool(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	_, err = emptySchema(ctx, pool)
	return err
}

// emptySchema returns the name of the schema of a database, and fails if it has tables.
func emptySchema(ctx context.Context, pool *sql.DB) (schema string, err error) {
	if err := checkPostgres(ctx, pool); err != nil {
		return "", err
	}
	var tables int
	err = pool.QueryRowContext(ctx, `SELECT current_schema(),
		(SELECT count(*) FROM pg_tables WHERE schemaname = current_schema())`).Scan(&schema, &tables)
	if err != nil {
		return "", fmt.Errorf("look into the database: %w", err)
	}
	if tables > 0 {
		return "", errors.New("the database is not empty; create an empty one, restore into it, and set database to it " +
			"(createdb carrel_restored)")
	}
	return schema, nil
}

// RestorePostgres restores a dump into a database whose schema has no tables, in one transaction.
func RestorePostgres(ctx context.Context, address, path string) (err error) {
	pool, err := openPool(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	schema, err := emptySchema(ctx, pool)
	if err != nil {
		return err
	}
	tool, err := findTool(ctx, pool, "pg_restore")
	if err != nil {
		return err
	}
	return runTool(ctx, address, tool, "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges",
		"--schema="+schema, path)
}

// ScratchPostgres creates an empty database on the server of address and returns its address. The role needs the right
// to create databases.
func ScratchPostgres(ctx context.Context, address string) (scratch string, drop func() error, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", nil, errors.New("the address of the database is not a URL")
	}
	pool, err := openPool(address)
	if err != nil {
		return "", nil, err
	}
	name := "carrel_verify_" + strings.ToLower(rand.Text()[:12])
	if _, err := pool.ExecContext(ctx, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		return "", nil, errors.Join(fmt.Errorf("create a database to restore the backup into; give the role the right "+
			"CREATEDB, or name an empty database with --scratch: %w", err), pool.Close())
	}
	u.Path = "/" + name
	drop = func() error {
		_, err := pool.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)")
		return errors.Join(err, pool.Close())
	}
	if err := awaitDatabase(ctx, u.String()); err != nil {
		return "", nil, errors.Join(err, drop())
	}
	return u.String(), drop, nil
}

// Of an address with several hosts, a standby may come first and not have replayed the creation of a database yet. It
// then refuses the connection, and the hosts after it are not tried.
const (
	replayWait  = time.Minute
	replayPause = 100 * time.Millisecond
)

// awaitDatabase waits until the hosts of an address have a database that was just created.
func awaitDatabase(ctx context.Context, address string) (err error) {
	pool, err := openPool(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	for deadline := time.Now().Add(replayWait); ; {
		err := pool.PingContext(ctx)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "3D000" || time.Now().After(deadline) { // invalid_catalog_name
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(replayPause):
		}
	}
}

// openPool connects without migrating.
func openPool(address string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err) // pgx redacts the password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	return stdlib.OpenDB(*config), nil
}

var toolVersion = lazyregexp.New(`\) (\d+)`)

// findTool returns the path of a program of PostgreSQL whose version can read and write the server's data.
func findTool(ctx context.Context, pool *sql.DB, name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("backups of PostgreSQL need %s; install the client programs of PostgreSQL "+
			"(Debian: postgresql-client)", name)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output() //nolint:gosec // found in the path
	if err != nil {
		return "", fmt.Errorf("run %s: %w", name, err)
	}
	var number int
	if err := pool.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number); err != nil {
		return "", fail("read the version of the server", "database", err)
	}
	return path, checkTool(name, string(out), number/10000)
}

// checkTool compares the output of --version with the major version of the server. A program can't be used with a newer
// server.
func checkTool(name, version string, server int) error {
	match := toolVersion.FindStringSubmatch(version)
	if match == nil {
		return fmt.Errorf("%s prints no version", name)
	}
	if major, err := strconv.Atoi(match[1]); err != nil || major < server {
		return fmt.Errorf("%s is of PostgreSQL %s and the server of %d; install the client programs of version %d",
			name, match[1], server, server)
	}
	return nil
}

// runTool runs a program of PostgreSQL on a database. The password is passed in the environment: other users can read
// the arguments of a process.
func runTool(ctx context.Context, address, tool string, arguments ...string) error {
	target, env, err := toolConnection(address)
	if err != nil {
		return err
	}
	arguments = append([]string{"--no-password", "--dbname=" + target}, arguments...)
	cmd := exec.CommandContext(ctx, tool, arguments...) //nolint:gosec // from the settings of the operator
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s failed: %w: %s", cmd.Path, err, lastLine(out.String()))
	}
	return nil
}

// lastLine returns the last non-empty line of the output of a program, which has no connection string.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// libpqParameters are the parameters of a connection URL that the programs of PostgreSQL know.
var libpqParameters = []string{
	"application_name", "channel_binding", "client_encoding", "connect_timeout", "fallback_application_name",
	"gssencmode", "host", "hostaddr", "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval",
	"krbsrvname", "options", "passfile", "port", "requirepeer", "service", "sslcert", "sslcompression", "sslcrl",
	"sslcrldir", "sslkey", "sslmode", "sslnegotiation", "sslrootcert", "sslsni", "ssl_max_protocol_version",
	"ssl_min_protocol_version", "target_session_attrs", "tcp_user_timeout", "user", "dbname", "gsslib",
}

// driverParameters are parameters of our driver.
var driverParameters = []string{
	"default_query_exec_mode", "description_cache_capacity", "statement_cache_capacity", "sslpassword",
}

// toolConnection returns the connection URL without secrets and with the parameters that the programs of PostgreSQL
// know, and the environment with the rest: our driver takes settings of the session as parameters.
func toolConnection(address string) (target string, env []string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", nil, errors.New("the address of the database is not a URL")
	}
	query := u.Query()
	password, set := u.User.Password()
	if p := query.Get("password"); p != "" {
		password, set = p, true
	}
	query.Del("password")
	if set {
		env = append(env, "PGPASSWORD="+password)
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	var options []string
	for name, values := range query {
		if slices.Contains(libpqParameters, name) {
			continue
		}
		query.Del(name)
		if !slices.Contains(driverParameters, name) && len(values) > 0 {
			value := strings.NewReplacer(`\`, `\\`, " ", `\ `).Replace(values[0])
			options = append(options, "-c "+name+"="+value)
		}
	}
	if len(options) > 0 {
		slices.Sort(options)
		if before := query.Get("options"); before != "" {
			options = append([]string{before}, options...)
			query.Del("options")
		}
		env = append(env, "PGOPTIONS="+strings.Join(options, " "))
	}
	u.RawQuery = query.Encode()
	return u.String(), env, nil
}

// quoteIdentifier quotes a name, which pg_dump would otherwise take for a pattern.
func quoteIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
