package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
)

func openPostgres(ctx context.Context, o Options) (*DB, error) {
	config, err := postgresConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	p := &postgres{sessions: sessionLimits{statement: o.StatementTimeout, pooled: o.DirectURL != ""}, direct: config}
	if p.sessions.pooled {
		if p.direct, err = postgresConfig(o.DirectURL); err != nil {
			return nil, fmt.Errorf("open the database directly: %w", err)
		}
		config = pooledConfig(config)
	}
	if err := prepareDatabase(ctx, p.direct, o); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db := &DB{dialect: postgresDialect, url: cmp.Or(o.DirectURL, o.URL), read: p, write: p, bin: o.Bin}
	config = config.Copy()
	config.Tracer = statementCounter{&db.statements}
	p.pool = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(p.sessions.apply))
	connections := cmp.Or(o.Connections, DefaultConnections)
	p.pool.SetMaxOpenConns(connections)
	p.pool.SetMaxIdleConns(connections)
	p.pool.SetConnMaxIdleTime(5 * time.Minute)
	if err := p.pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", err), p.pool.Close())
	}
	return db, nil
}

// statementCounter counts the statements that pgx sends, those of a batch one by one.
type statementCounter struct{ n *atomic.Int64 }

func (c statementCounter) TraceQueryStart(
	ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData,
) context.Context {
	c.n.Add(1)
	return ctx
}

func (c statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c statementCounter) TraceBatchStart(
	ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData,
) context.Context {
	c.n.Add(int64(data.Batch.Len()))
	return ctx
}

func (c statementCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (c statementCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// pooledConfig returns the configuration for a pooler in transaction mode, where a statement may run on another
// connection than the one it was prepared on.
func pooledConfig(config *pgx.ConnConfig) *pgx.ConnConfig {
	config = config.Copy()
	if config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return config
}

func postgresConfig(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err // pgx redacts the password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "carrel"
	}
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn(), DeadlineDelay: cancelDelay}
	}
	return config, nil
}

// prepareDatabase checks the server and migrates the schema, on connections without a statement timeout.
func prepareDatabase(ctx context.Context, direct *pgx.ConnConfig, o Options) (err error) {
	files, err := postgresDialect.migrations()
	if err != nil {
		return err
	}
	pool := stdlib.OpenDB(*direct)
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := checkPostgres(ctx, pool); err != nil {
		return err
	}
	return migratePostgres(ctx, pool, files, o.Log)
}

// checkPostgres rejects an unsupported server before anything is changed in it.
func checkPostgres(ctx context.Context, pool *sql.DB) error {
	var number int
	if err := pool.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number); err != nil {
		return err
	}
	return checkVersion(number)
}

// The settings of a session. They are set with SET instead of startup parameters, because poolers reject startup
// parameters that they do not know.
const (
	idleSetting      = "idle_in_transaction_session_timeout"
	statementSetting = "statement_timeout"
)

// apply configures a new connection, except for parameters that the URL sets.
func (l sessionLimits) apply(ctx context.Context, c *pgx.Conn) error {
	if l.pooled {
		return nil
	}
	var sets []string
	for _, s := range []struct {
		name  string
		limit time.Duration
	}{{idleSetting, idleInTransaction}, {statementSetting, l.statement}} {
		if _, set := c.Config().RuntimeParams[s.name]; !set {
			sets = append(sets, fmt.Sprintf("SET %s = %d", s.name, s.limit.Milliseconds()))
		}
	}
	if len(sets) == 0 {
		return nil
	}
	_, err := c.Exec(ctx, strings.Join(sets, ";"))
	return err
}

// local returns the statements that configure a transaction. Bulk transactions have no statement timeout.
func (l sessionLimits) local(bulk bool) string {
	statement := l.statement
	if bulk {
		statement = 0
	}
	switch {
	case l.pooled:
		return fmt.Sprintf("SET LOCAL %s = %d; SET LOCAL %s = %d",
			idleSetting, idleInTransaction.Milliseconds(), statementSetting, statement.Milliseconds())
	case bulk && l.statement > 0:
		return "SET LOCAL " + statementSetting + " = 0"
	}
	return ""
}

// run calls fn with the context of a statement outside of a transaction.
func (l sessionLimits) run(ctx context.Context, fn func(context.Context) error) error {
	if !l.pooled || l.statement == 0 {
		return fn(ctx)
	}
	limited, cancel := context.WithTimeoutCause(ctx, l.statement, errStatementTimeout)
	defer cancel()
	err := fn(limited)
	if err != nil && errors.Is(context.Cause(limited), errStatementTimeout) {
		return errStatementTimeout
	}
	return err
}
