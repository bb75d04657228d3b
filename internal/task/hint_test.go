package task_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"carrel/internal/task"
)

func TestHintsReplacePollingAndSurviveAReconnect(t *testing.T) {
	t.Parallel()
	o := backends[1].open(t)
	c := newCluster(t, o)
	c.options.Poll = time.Hour
	goOn := make(chan struct{})
	c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
		if string(r.Task().Input) == "hang" {
			return task.Outcome{}, hang(ctx)
		}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return task.Outcome{}, nil
	})
	here, elsewhere := c.node(), c.node()
	for range 2 {
		// The listeners connect in the background.
		c.until("the listeners", func() bool { return c.listeners(o.URL, false) == 2 })
		started := c.submit(here, task.Spec{Key: "k"}).ID
		queued := c.submit(elsewhere, task.Spec{Key: "k"}).ID
		hanging := c.submit(here, task.Spec{Input: []byte("hang")}).ID
		same(t, "states", []task.State{c.read(started).State, c.read(queued).State}, []task.State{"running", "queued"})
		go func() {
			goOn <- struct{}{}
			goOn <- struct{}{}
		}()
		for _, id := range []string{started, queued} {
			same(t, "state", c.wait(elsewhere, id).State, task.StateComplete)
		}
		c.cancel(elsewhere, hanging, true)
		same(t, "state", c.wait(elsewhere, hanging).State, task.StateCancelled)
		c.listeners(o.URL, true)
	}
}

// listeners counts the listening connections and, if end is set, terminates them.
func (c *cluster) listeners(url string, end bool) (n int) {
	c.t.Helper()
	ctx := c.t.Context()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close(ctx)
	which := `FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'`
	query := `SELECT count(*) ` + which
	if end {
		query = `SELECT count(*) FROM (SELECT pg_terminate_backend(pid) ` + which + `) ended`
	}
	if err := conn.QueryRow(ctx, query).Scan(&n); err != nil {
		c.t.Fatal(err)
	}
	return n
}
