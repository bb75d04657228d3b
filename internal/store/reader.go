package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// reader is a querier outside of any transaction, with an end.
type reader interface {
	querier
	close() error
}

// sqliteReader reads through a pool of connections that can't write, with every statement prepared once for each.
type sqliteReader struct {
	pool       *sql.DB
	statements sync.Map // of string to *sql.Stmt
}

func newSQLiteReader(pool *sql.DB) *sqliteReader { return &sqliteReader{pool: pool} }

// prepared returns the statement for a text.
func (r *sqliteReader) prepared(query string) (*sql.Stmt, error) {
	if s, ok := r.statements.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := r.pool.PrepareContext(context.Background(), positional(query)) // it outlives whoever asks first
	if err != nil {
		return nil, err
	}
	if other, loaded := r.statements.LoadOrStore(query, s); loaded {
		return other.(*sql.Stmt), s.Close()
	}
	return s, nil
}

// each runs the statement to its end even when the context ends meanwhile: each takes well under a millisecond, and
// watching a context costs two goroutines, which is more than most of these queries.
func (r *sqliteReader) each(ctx context.Context, query string, a args, dest []any, row func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := r.prepared(query) //nolint:contextcheck // a statement outlives the call that first needs it
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.WithoutCancel(ctx), a...)
	if err != nil {
		return err
	}
	_, err = walk(rows, dest, row)
	return err
}

// exec has no use on connections that can't write.
func (r *sqliteReader) exec(context.Context, string, ...any) (int64, error) {
	return 0, errors.New("a write outside of the writer")
}

func (r *sqliteReader) close() error {
	var errs []error
	r.statements.Range(func(_, s any) bool {
		errs = append(errs, s.(*sql.Stmt).Close())
		return true
	})
	return errors.Join(append(errs, r.pool.Close())...)
}
