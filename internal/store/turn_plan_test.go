package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/testkit"
)

// The statements of a turn find threads and tasks by primary key, also before PostgreSQL has analysed the tables. The
// plans checked are those that PostgreSQL keeps for any parameters.
func TestTurnStatementsUseThePrimaryKeyOnPostgres(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	db := open(t, Options{URL: url})
	ctx, must := t.Context(), failOn(t)
	must(db.InsertUser(ctx, account.User{ID: "u", Email: "e"}, "h"))
	must(db.InsertAgent(ctx, agent.Agent{
		ID: "a", UserID: "u", Sources: []agent.Source{{ID: "s", Kind: "upload", Default: true, Status: "ready"}},
	}))
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, statement := range []string{
		`SET plan_cache_mode = force_generic_plan`,
		`INSERT INTO thread (id, user_id, agent_id, title, status, activity_at, next_seq, created_at, updated_at)
			SELECT 'thread ' || n, 'u', 'a', '', 'idle', 0, 1, 0, 0 FROM generate_series(1, 3000) n`,
		`INSERT INTO task (id, kind, key, number, user_id, state, owner, attempt, crashes, run_at, deadline_at,
			error_code, error_detail, created_at)
			SELECT 'task ' || n, 'turn', 'thread ' || n, 1, 'u', 'running', 'node', 1, 0, 0, 0, '', '', 0
			FROM generate_series(1, 3000) n`,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatalf("%v: %s", err, statement)
		}
	}
	for name, statement := range map[string]string{
		"submit":         submitIdle,
		"submit limited": submitIdleLimited,
		"record":         recordEntry,
		"finish":         finishPlain,
		"thread":         `SELECT ` + threadColumns + ` FROM thread WHERE ` + threadOfAgent,
		"fence":          `SELECT 1 FROM task WHERE ` + fencedRunning,
	} {
		plan := genericPlan(t, conn, statement)
		for _, unwanted := range []string{
			"thread_activity", "thread_created", "thread_title", "task_owner", "task_served",
			"Seq Scan on thread", "Seq Scan on task", "Seq Scan on message",
		} {
			if strings.Contains(plan, unwanted) {
				t.Errorf("%s: the plan has %q\n%s", name, unwanted, plan)
			}
		}
	}
}

// genericPlan returns the plan of a statement for unknown parameters.
func genericPlan(t *testing.T, conn *pgx.Conn, statement string) string {
	t.Helper()
	ctx := t.Context()
	if _, err := conn.Exec(ctx, `PREPARE checked AS `+statement); err != nil {
		t.Fatalf("%v: %s", err, statement)
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(parameters(statement))), ", ")
	rows, err := conn.Query(ctx, fmt.Sprintf(`EXPLAIN EXECUTE checked (%s)`, nulls), pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, `DEALLOCATE checked`); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
