package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// reader is a closable querier outside of transactions.
type reader interface {
	querier
	poolStats() sql.DBStats
	close() error
}

// sqliteReader reads through a pool of read-only connections, with every statement prepared once per connection.
type sqliteReader struct {
	pool       *sql.DB
	statements sync.Map // of string to *sql.Stmt
}

func newSQLiteReader(pool *sql.DB) *sqliteReader { return &sqliteReader{pool: pool} }

func (r *sqliteReader) prepared(query string) (*sql.Stmt, error) {
	if s, ok := r.statements.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := r.pool.PrepareContext(context.Background(), positional(query)) // the statement outlives this call
	if err != nil {
		return nil, err
	}
	if other, loaded := r.statements.LoadOrStore(query, s); loaded {
		return other.(*sql.Stmt), s.Close()
	}
	return s, nil
}

// each runs the query to its end even if the context ends meanwhile. Queries take well under a millisecond, and
// watching a context costs database/sql two goroutines, which is more than most of these queries.
func (r *sqliteReader) each(ctx context.Context, query string, a args, dest []any, row func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := r.prepared(query) //nolint:contextcheck // the statement outlives this call
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.WithoutCancel(ctx), a...)
	if err != nil {
		return err
	}
	_, err = scanRows(rows, dest, row)
	return err
}

// exec always fails: the connections of the reader are read-only.
func (r *sqliteReader) exec(context.Context, string, ...any) (int64, error) {
	return 0, errors.New("write on a read-only connection")
}

func (r *sqliteReader) close() error {
	var errs []error
	r.statements.Range(func(_, s any) bool {
		errs = append(errs, s.(*sql.Stmt).Close())
		return true
	})
	return errors.Join(append(errs, r.pool.Close())...)
}
