package main

import (
	"context"
	"database/sql"
	"log/slog"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // DBOS needs it for SQLite
)

// dbosConns is the default size of DBOS's SQLite pool.
const dbosConns = 8

// dbosEngine is DBOS Transact: a workflow of one step, awaited through its handle.
type dbosEngine struct {
	ctx  dbos.Context
	pool *sql.DB // nil on PostgreSQL
}

func openDBOS(ctx context.Context, database string) (engine, error) {
	e := &dbosEngine{}
	config := dbos.Config{AppName: "bench", Logger: slog.New(slog.DiscardHandler)}
	if isPostgres(database) {
		config.DatabaseURL = database
	} else {
		// DBOS opens SQLite with synchronous = NORMAL by default, where a commit does not wait for the disk.
		var err error
		if e.pool, err = sql.Open("sqlite", sqliteDSN(database)); err != nil {
			return nil, err
		}
		e.pool.SetMaxOpenConns(dbosConns)
		e.pool.SetMaxIdleConns(dbosConns)
		config.SQLiteSystemDB = e.pool
	}
	var err error
	if e.ctx, err = dbos.NewContext(ctx, config); err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(e.ctx, turnWorkflow)
	return e, dbos.Launch(e.ctx)
}

// turnWorkflow produces the reply in one step.
func turnWorkflow(ctx dbos.Context, text string) (string, error) {
	return dbos.RunAsStep(ctx, func(context.Context) (string, error) { return reply(text), nil })
}

func (e *dbosEngine) turn(_ context.Context, text string) (string, error) {
	handle, err := dbos.RunWorkflow(e.ctx, turnWorkflow, text)
	if err != nil {
		return "", err
	}
	return handle.GetResult(dbos.WithHandleTimeout(turnTimeout))
}

func (e *dbosEngine) close(context.Context) error {
	dbos.Shutdown(e.ctx, stopTimeout)
	if e.pool == nil {
		return nil
	}
	return e.pool.Close()
}
