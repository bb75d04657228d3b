package store

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/testkit"
	"carrel/internal/thread"
)

// indexedList is a list whose pages are read in the order of an index, with the indexes that a page uses.
type indexedList struct {
	call    func(ctx context.Context, db *DB) error
	indexes []string
}

// indexedLists are the lists of both databases.
var indexedLists = map[string]indexedList{
	"threads by title": {func(ctx context.Context, db *DB) error {
		f := thread.Filter{Order: thread.OrderTitle}
		return errorOf(db.Threads(ctx, "u", "a", f, &thread.Key{Title: "t", ID: "t"}, 50))
	}, []string{"thread_title"}},
	"first threads by title": {func(ctx context.Context, db *DB) error {
		return errorOf(db.Threads(ctx, "u", "a", thread.Filter{Order: thread.OrderTitle}, nil, 50))
	}, []string{"thread_title"}},
	"threads by creation": {func(ctx context.Context, db *DB) error {
		f := thread.Filter{Order: thread.OrderCreated}
		return errorOf(db.Threads(ctx, "u", "a", f, &thread.Key{ID: "t"}, 50))
	}, []string{"thread_created"}},
	"first threads by creation": {func(ctx context.Context, db *DB) error {
		return errorOf(db.Threads(ctx, "u", "a", thread.Filter{Order: thread.OrderCreated}, nil, 50))
	}, []string{"thread_created"}},
	"threads with a word": {func(ctx context.Context, db *DB) error {
		return errorOf(db.Threads(ctx, "u", "a", thread.Filter{Words: []string{"x"}}, nil, 50))
	}, nil},
	"latest matches": {func(ctx context.Context, db *DB) error {
		return errorOf(db.LatestMatches(ctx, []string{"t"}, []string{"x"}))
	}, nil},
	"connections": {func(ctx context.Context, db *DB) error {
		return errorOf(db.Connections(ctx, "u", time.Now(), nil, 50))
	}, []string{"credential_key_minted", "oauth_grant_created"}},
	"shared agents": {func(ctx context.Context, db *DB) error {
		return errorOf(db.Agents(ctx, "u", nil, agent.Position{Shared: true}, 50))
	}, []string{"agent_grant_user"}},
}

// mergedLists are lists that SQLite merges from ranges of an index. PostgreSQL has an index in their order.
var mergedLists = map[string]indexedList{
	"threads by activity": {func(ctx context.Context, db *DB) error {
		return errorOf(db.Threads(ctx, "u", "a", thread.Filter{}, &thread.Key{Activity: time.Now(), ID: "t"}, 50))
	}, []string{"thread_pinned"}},
	"first threads by activity": {func(ctx context.Context, db *DB) error {
		f := thread.Filter{Order: thread.OrderActivity, Tags: []string{"x"}}
		return errorOf(db.Threads(ctx, "u", "a", f, nil, 50))
	}, []string{"thread_pinned"}},
}

// recordList returns the statements of a list.
func recordList(t *testing.T, db *DB, call func(context.Context, *DB) error) []string {
	t.Helper()
	plain, seen := db.read, new([]string)
	db.read = recordingReader{recorder{plain, seen}}
	defer func() { db.read = plain }()
	if err := call(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return *seen
}

// TestPagesOfListsAreReadInTheOrderOfAnIndex checks that a page costs its own rows, however long the list is.
func TestPagesOfListsAreReadInTheOrderOfAnIndex(t *testing.T) {
	t.Parallel()
	db := open(t, backends(t)[0].options)
	lists := maps.Clone(indexedLists)
	maps.Copy(lists, mergedLists)
	for name, list := range lists {
		statements := recordList(t, db, list.call)
		checkPlans(t, db, statements, func(step, _ string) bool {
			// The values of a parameter, and two pages of connections, which are merged.
			return strings.HasPrefix(step, "SCAN found") || strings.HasPrefix(step, "SCAN json_each") ||
				step == "USE TEMP B-TREE FOR ORDER BY" && name == "connections"
		})
		plan := ""
		for _, statement := range statements {
			var id, parent, unused int
			var step string
			err := db.read.each(t.Context(), "EXPLAIN QUERY PLAN "+statement, parameters(statement),
				[]any{&id, &parent, &unused, &step}, func() error {
					plan += step + "\n"
					return nil
				})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, index := range list.indexes {
			if !strings.Contains(plan, "INDEX "+index+" ") {
				t.Errorf("%s does not use %s:\n%s", name, index, plan)
			}
		}
	}
}

func TestPagesOfListsAreReadInTheOrderOfAnIndexOnPostgres(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	db := open(t, Options{URL: url})
	ctx, must := t.Context(), failOn(t)
	for _, id := range []string{"u", "v"} {
		must(db.InsertUser(ctx, account.User{ID: id, Email: id}, "h"))
	}
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
			SELECT 'thread ' || n, 'u', 'a', 'title ' || n % 100, 'idle', n, 1, 0, 0 FROM generate_series(1, 5000) n`,
		`INSERT INTO message (id, thread_id, seq, role, text, status, turn_id, created_at)
			SELECT 'message ' || n, 'thread 1', n, 'user', 'text', 'complete', n, 0 FROM generate_series(1, 5000) n`,
		`INSERT INTO credential_key (id, user_id, kind, name, hint, hash, scopes, agents, created_at)
			SELECT 'key ' || n, 'u', 'minted', '', '', convert_to('hash ' || n, 'UTF8'), '[]', '[]', n
			FROM generate_series(1, 5000) n`,
		`INSERT INTO oauth_client (id, kind, name, uri, redirect_uris, auth_method, created_at)
			VALUES ('c', 'registered', '', '', '[]', 'none', 0)`,
		`INSERT INTO oauth_grant (id, user_id, client_id, scopes, resources, auth_time, created_at, expires_at)
			SELECT 'grant ' || n, 'u', 'c', '[]', '[]', 0, n, 9e15 FROM generate_series(1, 5000) n`,
		`INSERT INTO agent (id, user_id, name, description, instructions, model, created_at, updated_at)
			SELECT 'agent ' || n, 'v', '', '', '', '', 0, 0 FROM generate_series(1, 5000) n`,
		`INSERT INTO agent_grant (agent_id, user_id, role, created_at)
			SELECT 'agent ' || n, CASE n % 2 WHEN 0 THEN 'u' END, 'viewer', 0 FROM generate_series(1, 5000) n`,
		`ANALYZE`,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatalf("%v: %s", err, statement)
		}
	}
	for name, list := range indexedLists {
		plan := ""
		for _, statement := range recordList(t, db, list.call) {
			plan += genericPlan(t, conn, statement) + "\n"
		}
		for _, index := range list.indexes {
			if !strings.Contains(plan, index) {
				t.Errorf("%s does not use %s:\n%s", name, index, plan)
			}
		}
		for _, table := range []string{"thread", "message", "credential_key", "oauth_grant", "agent_grant", "agent"} {
			if strings.Contains(plan, "Seq Scan on "+table+" ") {
				t.Errorf("%s reads all of %s:\n%s", name, table, plan)
			}
		}
		if strings.Contains(plan, "hashed SubPlan") {
			t.Errorf("%s reads a table to hash it:\n%s", name, plan)
		}
		if strings.Contains(plan, "Sort Key") && name != "connections" {
			t.Errorf("%s sorts:\n%s", name, plan)
		}
	}
}
