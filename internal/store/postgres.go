package store

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres reads and writes through one pool. The driver caches prepared statements per connection.
type postgres struct {
	pool     *sql.DB
	sessions sessionLimits
	// direct is the configuration of connections that need a session: migrations and notifications.
	direct *pgx.ConnConfig
	writes atomic.Int64
}

// sessionLimits are the timeouts that the server enforces.
type sessionLimits struct {
	statement time.Duration
	// pooled is set behind a pooler in transaction mode, where settings of a session do not last. They are set in every
	// transaction instead, and single statements are limited by their context.
	pooled bool
}

// maxAttempts limits how often a conflicting transaction is tried.
const maxAttempts = 4

func (p *postgres) each(ctx context.Context, query string, a args, dest []any, row func() error) error {
	return p.sessions.run(ctx, func(ctx context.Context) error {
		rows, err := p.pool.QueryContext(ctx, query, a...)
		if err != nil {
			return err
		}
		err = scanRows(rows, dest, row)
		return err
	})
}

func (p *postgres) exec(ctx context.Context, query string, a ...any) (n int64, err error) {
	err = p.sessions.run(ctx, func(ctx context.Context) (err error) {
		n, err = execOn(ctx, p.pool, query, a)
		return err
	})
	return n, err
}

func (p *postgres) statement(ctx context.Context, query string, a args, dest []any) (n int64, err error) {
	mustNotNest(ctx)
	p.writes.Add(1)
	for try := range maxAttempts {
		backoff(ctx, try)
		if dest != nil {
			err = get(ctx, p, query, a, dest...)
		} else {
			n, err = p.exec(ctx, query, a...)
		}
		if classify(err) != classRetry {
			break
		}
	}
	return n, err
}

func (p *postgres) transaction(ctx context.Context, bulk bool, fn writeFunc) (err error) {
	mustNotNest(ctx)
	p.writes.Add(1)
	for try := range maxAttempts {
		backoff(ctx, try)
		if err = p.try(ctx, bulk, fn); classify(err) != classRetry {
			break
		}
	}
	return err
}

// minBackoff is the minimum pause before the second attempt. It doubles with each attempt.
const minBackoff = 10 * time.Millisecond

// backoff waits before a repeated attempt. Without a random pause, the loser of a deadlock could take its first lock
// again before the winner proceeds, and both would deadlock again.
func backoff(ctx context.Context, try int) {
	if try == 0 {
		return
	}
	least := minBackoff << (try - 1)
	timer := time.NewTimer(least + rand.N(least)) //nolint:gosec // jitter, not a secret
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (p *postgres) try(ctx context.Context, bulk bool, fn writeFunc) error {
	tx, err := p.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if settings := p.sessions.local(bulk); settings != "" {
		if _, err := tx.ExecContext(ctx, settings); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	if err := recoverPanic(context.WithValue(ctx, inWrite{}, true), postgresTx{tx}, fn); err != nil {
		if ctx.Err() != nil { // the driver has rolled back and reports only that
			return ctx.Err()
		}
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			return errors.Join(err, rollback)
		}
		return err
	}
	return tx.Commit()
}

func (p *postgres) stats() Stats { n := p.writes.Load(); return Stats{Writes: n, Commits: n} }

// close is called once as reader and once as writer; closing a pool twice is harmless.
func (p *postgres) close() error { return p.pool.Close() }

// postgresTx is the querier inside a transaction.
type postgresTx struct{ tx *sql.Tx }

func (t postgresTx) each(ctx context.Context, query string, a args, dest []any, row func() error) error {
	rows, err := t.tx.QueryContext(ctx, query, a...)
	if err != nil {
		return err
	}
	err = scanRows(rows, dest, row)
	return err
}

func (t postgresTx) exec(ctx context.Context, query string, a ...any) (int64, error) {
	return execOn(ctx, t.tx, query, a)
}

func execOn(ctx context.Context, on interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, a args,
) (int64, error) {
	result, err := on.ExecContext(ctx, query, a...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// writeEach runs one write statement and calls row for each row that it returns. The statement may run more than once,
// with a call of start before each time.
func (p *postgres) writeEach(
	ctx context.Context, query string, a args, start func(), dest []any, row func() error,
) (err error) {
	mustNotNest(ctx)
	p.writes.Add(1)
	for try := range maxAttempts {
		backoff(ctx, try)
		start()
		err = p.each(ctx, query, a, dest, row)
		if classify(err) != classRetry {
			break
		}
	}
	return err
}
