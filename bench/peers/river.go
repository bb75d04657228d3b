package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the driver that River's documentation opens SQLite with
)

// ending is the way a waiter learns that its job is done.
type ending int

const (
	// byEvent is the documented way: a subscription to completed jobs. River completes jobs in batches, every 250 ms
	// while fewer than 100 are waiting; this is not configurable.
	byEvent ending = iota
	// byTransaction completes the job in its own transaction, which is documented as well, and then notifies the
	// waiter in this process. It is the fastest way with River, and works only if the request and the job share a
	// process.
	byTransaction
)

const (
	// fetchCooldown is River's minimum. The default of 100 ms would add a tenth of a second to most turns.
	fetchCooldown = time.Millisecond
	// sqlitePoll is the polling interval on SQLite, which has no notifications. With the default of 1 s a turn took
	// five times as long.
	sqlitePoll = 2 * time.Millisecond
	// riverWorkers exceeds the number of bench's connections.
	riverWorkers = 200
	// riverConns is the default of Carrel and DBOS; pgx's default is four.
	riverConns = 20
)

// turnArgs is the job. The id is created before the insert, so that an event cannot precede its waiter.
type turnArgs struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func (turnArgs) Kind() string { return "turn" }

// waiters are the requests that wait for their jobs.
type waiters struct {
	mu   sync.Mutex
	next atomic.Uint64
	by   map[string]chan string
}

func (w *waiters) add() (string, chan string) {
	id, told := strconv.FormatUint(w.next.Add(1), 10), make(chan string, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.by[id] = told
	return id, told
}

// tell passes a reply to its waiter, unless the waiter has given up.
func (w *waiters) tell(id, reply string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if told := w.by[id]; told != nil {
		told <- reply
		delete(w.by, id)
	}
}

func (w *waiters) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.by, id)
}

// turnWorker runs the jobs.
type turnWorker struct {
	river.WorkerDefaults[turnArgs]
	// complete completes a job in its own transaction; nil leaves that to River.
	complete func(ctx context.Context, job *river.Job[turnArgs]) error
	waiters  *waiters
}

// Work produces the reply.
func (w *turnWorker) Work(ctx context.Context, job *river.Job[turnArgs]) error {
	text := reply(job.Args.Text)
	if err := river.RecordOutput(ctx, text); err != nil {
		return err
	}
	if w.complete == nil {
		return nil
	}
	if err := w.complete(ctx, job); err != nil {
		return err
	}
	w.waiters.tell(job.Args.ID, text)
	return nil
}

// riverEngine is River on one database with transactions of type T.
type riverEngine[T any] struct {
	client  *river.Client[T]
	waiters *waiters
	cancel  func()
	done    chan struct{}
	pool    func() // closes it
}

func openRiver(how ending) func(context.Context, string) (engine, error) {
	return func(ctx context.Context, database string) (engine, error) {
		if isPostgres(database) {
			return openRiverPostgres(ctx, database, how)
		}
		return openRiverSQLite(ctx, database, how)
	}
}

func openRiverPostgres(ctx context.Context, url string, how ending) (engine, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = riverConns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	worker := &turnWorker{}
	if how == byTransaction {
		worker.complete = func(ctx context.Context, job *river.Job[turnArgs]) error {
			return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
				return err
			})
		}
	}
	return startRiver(ctx, riverpgxv5.New(pool), river.FetchPollIntervalDefault, worker, pool.Close)
}

func openRiverSQLite(ctx context.Context, path string, how ending) (engine, error) {
	pool, err := sql.Open("sqlite", sqliteDSN(path))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1) // as the driver's documentation requires
	worker := &turnWorker{}
	if how == byTransaction {
		worker.complete = func(ctx context.Context, job *river.Job[turnArgs]) error {
			tx, err := pool.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if _, err := river.JobCompleteTx[*riversqlite.Driver](ctx, tx, job); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		}
	}
	return startRiver(ctx, riversqlite.New(pool), sqlitePoll, worker, func() { _ = pool.Close() })
}

// startRiver creates the tables, starts a client and passes the ends of jobs to their waiters.
func startRiver[T any](
	ctx context.Context, driver riverdriver.Driver[T], poll time.Duration, worker *turnWorker, pool func(),
) (engine, error) {
	e := &riverEngine[T]{waiters: &waiters{by: map[string]chan string{}}, done: make(chan struct{}), pool: pool}
	worker.waiters = e.waiters
	quiet := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("make River's tables: %w", err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, worker)
	e.client, err = river.NewClient(driver, &river.Config{
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: poll,
		Logger:            quiet,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
		Workers:           workers,
	})
	if err != nil {
		return nil, err
	}
	events, cancel := e.client.Subscribe(river.EventKindJobCompleted)
	e.cancel = cancel
	go e.listen(events)
	return e, e.client.Start(ctx)
}

// listen notifies waiters of completed jobs until the subscription ends. Jobs that complete themselves have no waiter
// by then.
func (e *riverEngine[T]) listen(events <-chan *river.Event) {
	defer close(e.done)
	for event := range events {
		var args turnArgs
		var text string
		if json.Unmarshal(event.Job.EncodedArgs, &args) == nil && json.Unmarshal(event.Job.Output(), &text) == nil {
			e.waiters.tell(args.ID, text)
		}
	}
}

func (e *riverEngine[T]) turn(ctx context.Context, text string) (string, error) {
	id, told := e.waiters.add()
	defer e.waiters.remove(id)
	if _, err := e.client.Insert(ctx, turnArgs{ID: id, Text: text}, nil); err != nil {
		return "", err
	}
	select {
	case text := <-told:
		return text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (e *riverEngine[T]) close(ctx context.Context) error {
	err := e.client.StopAndCancel(ctx)
	e.cancel()
	<-e.done
	e.pool()
	return err
}
