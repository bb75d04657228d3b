package store

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// countingWriter records how many rows each statement in a transaction changes.
type countingWriter struct {
	writer
	changed *[]int64
}

type countingTx struct {
	querier
	changed *[]int64
}

func (w countingWriter) transaction(ctx context.Context, bulk bool, fn writeFunc) error {
	return w.writer.transaction(ctx, bulk, func(ctx context.Context, tx querier) error {
		return fn(ctx, countingTx{tx, w.changed})
	})
}

func (tx countingTx) exec(ctx context.Context, query string, a ...any) (int64, error) {
	n, err := tx.querier.exec(ctx, query, a...)
	*tx.changed = append(*tx.changed, n)
	return n, err
}

func TestOldRowsAreDeletedInBatches(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			ctx, now := t.Context(), time.Now()
			must := failOn(t)
			must(db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
				for i := range 2*pruneBatch + 500 {
					if _, err := tx.exec(ctx, `INSERT INTO billing_event (id, taken_at) VALUES ($1, $2)`,
						fmt.Sprint("evt_", i), millis(now)); err != nil {
						return err
					}
				}
				for i := range 2*pruneTaskBatch + 50 {
					if _, err := tx.exec(ctx, `
						INSERT INTO task (id, kind, key, number, state, attempt, crashes, run_at, deadline_at, error_code,
							error_detail, created_at, finished_at)
						VALUES ($1, 'webhook', $1, 1, 'complete', 1, 0, 0, 0, '', '', 0, $2)`,
						fmt.Sprint("tsk_", i), millis(now)); err != nil {
						return err
					}
				}
				return nil
			}))
			var deleted []int64
			db.write = countingWriter{db.write, &deleted}
			must(db.PruneBillingEvents(ctx, now))
			must(db.PruneDeliveries(ctx, now))
			must(db.PruneBillingEvents(ctx, now.Add(time.Second)))
			must(db.PruneDeliveries(ctx, now.Add(time.Second)))
			want := []int64{0, 0, pruneBatch, pruneBatch, 500, pruneTaskBatch, pruneTaskBatch, 50}
			if !slices.Equal(deleted, want) {
				t.Errorf("the statements delete %v rows, want %v", deleted, want)
			}
		})
	}
}

// TestEveryPruningIsBounded calls all methods that delete what is older than given times.
func TestEveryPruningIsBounded(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	value := reflect.ValueOf(db)
	called := 0
methods:
	for i := range value.NumMethod() {
		method, name := value.Method(i), value.Type().Method(i).Name
		if !strings.HasPrefix(name, "Prune") {
			continue
		}
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for p := 1; p < method.Type().NumIn(); p++ {
			if method.Type().In(p) != reflect.TypeFor[time.Time]() {
				continue methods // takes the size of a batch
			}
			in = append(in, reflect.ValueOf(time.Now()))
		}
		called++
		*seen = nil
		if err := method.Call(in)[0]; !err.IsNil() {
			t.Errorf("%s: %v", name, err)
		}
		for _, statement := range *seen {
			if strings.Contains(statement, "DELETE") && !strings.Contains(statement, "LIMIT $2") {
				t.Errorf("%s deletes any number of rows: %s", name, statement)
			}
		}
	}
	if called < 14 {
		t.Errorf("only %d methods were called", called)
	}
}
