package store

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/savedsearch"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

// recorder records every statement.
type recorder struct {
	querier
	seen *[]string
}

func (r recorder) exec(ctx context.Context, query string, a ...any) (int64, error) {
	*r.seen = append(*r.seen, query)
	return r.querier.exec(ctx, query, a...)
}

func (r recorder) each(ctx context.Context, query string, a args, dest []any, row func() error) error {
	*r.seen = append(*r.seen, query)
	return r.querier.each(ctx, query, a, dest, row)
}

type recordingReader struct{ recorder }

func (r recordingReader) close() error { return r.querier.(reader).close() }

func (r recordingReader) poolStats() sql.DBStats { return r.querier.(reader).poolStats() }

type recordingWriter struct {
	writer
	seen *[]string
}

func (w recordingWriter) statement(ctx context.Context, query string, a args, dest []any) (int64, error) {
	*w.seen = append(*w.seen, query)
	return w.writer.statement(ctx, query, a, dest)
}

func (w recordingWriter) transaction(ctx context.Context, bulk bool, fn writeFunc) error {
	return w.writer.transaction(ctx, bulk, func(ctx context.Context, tx querier) error {
		return fn(ctx, recorder{tx, w.seen})
	})
}

// recordStatements opens a SQLite database that appends every statement to seen.
func recordStatements(t *testing.T) (db *DB, seen *[]string) {
	t.Helper()
	options := backends(t)[0].options
	options.Bin = true
	db, seen = open(t, options), new([]string)
	db.read = recordingReader{recorder{db.read, seen}}
	db.write = recordingWriter{db.write, seen}
	return db, seen
}

// checkPlans fails the test if the plan of a statement scans a table or sorts in memory, unless the step is allowed.
func checkPlans(t *testing.T, db *DB, statements []string, allowed func(step, statement string) bool) {
	t.Helper()
	for _, statement := range statements {
		var id, parent, unused int
		var step string
		subqueries := map[string]bool{} // whose own steps are checked
		err := db.read.each(t.Context(), "EXPLAIN QUERY PLAN "+statement, parameters(statement),
			[]any{&id, &parent, &unused, &step}, func() error {
				if name, found := strings.CutPrefix(step, "CO-ROUTINE "); found {
					subqueries["SCAN "+name] = true
				}
				costly := strings.HasPrefix(step, "SCAN") && !subqueries[step] || strings.Contains(step, "TEMP B-TREE")
				if costly && !allowed(step, statement) {
					t.Errorf("%s in %s", step, statement)
				}
				return nil
			})
		if err != nil {
			t.Fatalf("%v in %s", err, statement)
		}
	}
}

// failOn returns a function that fails the test on an error.
func failOn(t *testing.T) func(error) {
	t.Helper()
	return func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// callEverything calls every method of the store once on existing rows.
func callEverything(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	must := failOn(t)
	must(db.InsertUser(ctx, account.User{ID: "u", Email: "e", CreatedAt: now}, "h"))
	_, err := db.UserByEmail(ctx, "e")
	must(err)
	_, err = db.Users(ctx)
	must(err)
	must(db.SetPlan(ctx, "u", "open"))
	must(db.SetSpendCap(ctx, "u", nil))
	must(db.InsertKey(ctx, credential.Key{ID: "k", UserID: "u"}, []byte("h")))
	_, err = db.KeyByHash(ctx, []byte("h"), "2026-11")
	must(err)
	_, err = db.Keys(ctx, "u")
	must(err)
	must(db.TouchKeys(ctx, map[string]credential.Use{"k": {At: now}}))
	must(db.RevokeKey(ctx, "u", "k", now))
	must(db.InsertCode(ctx, credential.Code{ID: "c", UserID: "u", ExpiresAt: now.Add(time.Hour)}, []byte("c")))
	must(db.RedeemCode(ctx, []byte("c"), now, credential.Key{ID: "k2"}, []byte("h2")))
	must(db.DisableUser(ctx, "u", now))
	for range 2 {
		_, _, err = db.ClaimIdempotency(ctx, "u", "k", []byte("h"), "s", now, now.Add(time.Hour))
		must(err)
	}
	callAgents(t, db)
	callThreads(t, db)
	callWebhooks(t, db)
	callExports(t, db)
	callEmbeddings(t, db)
	callSearch(t, db)
}

func callAgents(t *testing.T, db *DB) {
	t.Helper()
	ctx := t.Context()
	must := failOn(t)
	a := agent.Agent{ID: "a", UserID: "u", Sources: []agent.Source{{ID: "s", Default: true}}}
	must(db.InsertAgent(ctx, a))
	must(db.InsertAgent(ctx, a))
	_, err := db.AgentGrant(ctx, "u", "a")
	must(err)
	_, err = db.Agent(ctx, "u", "a")
	must(err)
	for _, only := range [][]string{nil, {"a"}} {
		_, err = db.Agents(ctx, "u", only, agent.Position{}, 10)
		must(err)
	}
	callInvitations(t, db)
	_, err = db.ChangeAgent(ctx, "u", "a", func(*agent.Agent) error { return nil })
	must(err)
	must(db.InsertSource(ctx, "u", source.Source{ID: "s2", AgentID: "a", Default: true}))
	must(db.InsertSource(ctx, "u", source.Source{ID: "s2", AgentID: "a", Default: true}))
	_, err = db.Sources(ctx, "u", "a")
	must(err)
	_, _, err = db.PutDocuments(ctx, "s", []source.Document{{ID: "d", Hash: []byte("h")}})
	must(err)
	for _, err := range db.ScanDocuments(ctx, "s") {
		must(err)
	}
	_, err = db.DocumentsByID(ctx, []string{"s"}, []string{"d"})
	must(err)
	_, err = db.DocumentHeads(ctx, "s", 0, 0, 10)
	must(err)
	_, err = db.Document(ctx, "u", "a", "d")
	must(err)
	callFederated(t, db)
}

func callInvitations(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	must := failOn(t)
	must(db.InsertUser(ctx, account.User{ID: "v", Email: "v@example.org", EmailVerified: true, CreatedAt: now}, "h"))
	for _, invitee := range []string{"v@example.org", "v"} {
		must(errorOf(db.Offer(ctx, "u", "a", agent.Offer{Invitee: invitee, Grant: core.GrantUser, At: now}, 9)))
		_, err := db.Invitations(ctx, "v", now)
		must(err)
		must(errorOf(db.AcceptInvitation(ctx, "v", "a", now, now)))
		must(errorOf(db.DeleteShare(ctx, "a", invitee, now)))
	}
	must(errorOf(db.Offer(ctx, "u", "a", agent.Offer{Invitee: "v", Grant: core.GrantUser, At: now}, 9)))
	must(errorOf(db.DeclineInvitation(ctx, "v", "a", now, now)))
	must(db.ShareWithAll(ctx, "a", core.GrantViewer, now))
	_, err := db.Shares(ctx, "a")
	must(err)
	must(db.DeleteShareWithAll(ctx, "a", now))
}

func callFederated(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	expires := now.Add(time.Hour)
	must := failOn(t)
	must(db.PutFederatedReply(ctx, []byte("k"), []byte("a"), expires))
	_, err := db.FederatedReply(ctx, []byte("k"), now)
	must(err)
	_, err = db.PutFederatedDocuments(ctx, "s", []source.Document{
		{ID: "l", ExternalID: "l", Hash: []byte("h"), UpdatedAt: now, ExpiresAt: &expires},
	})
	must(err)
	must(db.KeepDocuments(ctx, "u", "a", []string{"l"}, now))
	must(db.PruneFederated(ctx, now))
}

func callThreads(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	must := failOn(t)
	must(errorOf(db.InsertThread(ctx, "u", thread.Thread{ID: "t", AgentID: "a"})))
	_, err := db.Thread(ctx, "u", "a", "t")
	must(err)
	_, err = db.Threads(ctx, "u", "a", thread.Filter{}, nil, 10)
	must(err)
	_, err = db.Threads(ctx, "u", "a", thread.Filter{Order: thread.OrderPinned, Archived: new(bool)}, &thread.Key{}, 10)
	must(err)
	_, err = db.AllThreads(ctx, "u", []string{"a", "b"}, thread.Filter{Tags: []string{"x"}}, nil, 10)
	must(err)
	_, err = db.ThreadTags(ctx, "u", nil)
	must(err)
	_, err = db.LatestMatches(ctx, []string{"t"}, []string{"x"})
	must(err)
	_, err = db.ChangeThread(ctx, "u", "a", "t", thread.Change{Title: new("n"), Tags: &[]string{"x"}}, now)
	must(err)
	turn, err := db.SubmitTurn(ctx,
		"u", "a", "", thread.Message{ID: "1", ThreadID: "t", TurnID: "x", Role: thread.RoleUser},
		task.Task{ID: "x", Kind: "turn", Key: "t", UserID: "u", Owner: "n", RunAt: now, DeadlineAt: now, CreatedAt: now})
	must(err)
	for _, id := range []string{"1", "2"} {
		must(db.ReserveSpend(ctx, billing.Reservation{
			ID: id, UserID: "u", TurnID: "x", Kind: billing.MeteredModel, Micros: 1, At: now,
		}))
	}
	must(db.SettleSpend(ctx, "x", 1, false, now))
	must(db.ReserveSpend(ctx, billing.Reservation{
		ID: "3", UserID: "u", TurnID: "x", Kind: billing.MeteredModel, Micros: 1, At: now,
	}))
	_, _, err = db.SpendOf(ctx, "u", "2026-11")
	must(err)
	must(db.FinishTurn(ctx, turn.Fence(), task.Outcome{State: task.StateComplete, At: now},
		thread.Message{ID: "2", ThreadID: "t", TurnID: "x", Role: thread.RoleAssistant}))
	_, _, err = db.ThreadPosition(ctx, "t")
	must(err)
	_, err = db.Messages(ctx, "t", 0, 10)
	must(err)
	_, err = db.Reply(ctx, "t", "x")
	must(err)
	_, err = db.Message(ctx, "t", "2")
	must(err)
	callVersions(t, db)
	m, err := db.InsertMemory(ctx, "u",
		memory.Memory{ID: "m", AgentID: "a", Status: memory.StatusActive, ThreadID: "t", MessageID: "1"}, "f")
	must(err)
	_, err = db.InsertMemory(ctx, "u", m, "g")
	must(err)
	_, err = db.Memories(ctx, "u", "a", memory.StatusActive, "", 10)
	must(err)
	_, err = db.FindMemories(ctx, "u", "a", memory.Filter{Status: memory.StatusActive}, &memory.Key{ID: "z"}, 10)
	must(err)
	_, err = db.Memory(ctx, "u", "a", "m")
	must(err)
	_, err = db.DeleteMemories(ctx, "u", "a", []string{"none"}, now)
	must(err)
	text := "x"
	_, err = db.ChangeMemory(ctx, "u", "a", "m", memory.Change{Text: &text, Folded: text}, now)
	must(err)
	for _, id := range []string{"n", "o"} {
		must(db.ProposeMemory(ctx, "u", memory.Memory{ID: id, AgentID: "a", Status: memory.StatusProposed}, id))
	}
	_, err = db.ConfirmMemory(ctx, "u", "a", "n", now)
	must(err)
	must(db.DismissMemory(ctx, "u", "a", "o", now))
	_, err = db.InsertMemory(ctx, "u", memory.Memory{ID: "o", AgentID: "a", Status: memory.StatusActive}, "p")
	must(err)
	must(db.SetFeedback(ctx, "t", "2", &thread.Feedback{Thumb: thread.ThumbUp, UpdatedAt: now}))
	must(db.SetFeedback(ctx, "t", "2", nil))
	_, err = db.SaveFavourite(ctx, "u", "a", favourite.Favourite{CardID: "c", Card: []byte("{}"), ThreadID: "t"})
	must(err)
	callFavouriteLists(t, db)
	_, err = db.ImportFavourites(ctx, "u", "a", []favourite.Favourite{{CardID: "i", Card: []byte("{}")}})
	must(err)
	_, err = db.InsertSavedSearch(ctx, "u", savedsearch.SavedSearch{ID: "s", AgentID: "a", Search: []byte("{}")}, 9)
	must(err)
	_, err = db.ChangeSavedSearch(ctx, "u", "a", "s", savedsearch.Change{Name: &text}, now)
	must(err)
	_, err = db.SavedSearches(ctx, "u", "a")
	must(err)
	_, err = db.InsertCollection(ctx, "u", favourite.Collection{ID: "l", Name: "n"}, "n")
	must(err)
	_, err = db.RenameCollection(ctx, "u", "l", "m", "m", now)
	must(err)
	_, err = db.ChangeFavourite(ctx, "u", "a", "c", favourite.Change{Collections: &[]string{"l"}}, now)
	must(err)
	_, err = db.Collections(ctx, "u")
	must(err)
}

// callVersions adds a version of an exchange, selects both versions and deletes one.
func callVersions(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	must := failOn(t)
	turn, err := db.SubmitVersion(ctx,
		"u", "a", "1", thread.Message{ID: "3", ThreadID: "t", TurnID: "y", Role: thread.RoleUser},
		task.Task{ID: "y", Kind: "turn", Key: "t", UserID: "u", Owner: "n", RunAt: now, DeadlineAt: now, CreatedAt: now})
	must(err)
	must(db.FinishTurn(ctx, turn.Fence(), task.Outcome{State: task.StateComplete, At: now}, thread.Message{
		ID: "4", ThreadID: "t", TurnID: "y", Role: thread.RoleAssistant,
		Answer: thread.Answer{Summary: &thread.Summary{Text: "s"}},
	}))
	must(db.SelectVersion(ctx, "u", "a", "t", "1"))
	_, err = db.AllMessages(ctx, "t", 0, 10)
	must(err)
	_, err = db.Messages(ctx, "t", 0, 10)
	must(err)
	must(db.DeleteExchange(ctx, "u", "a", "t", "3"))
}

// deleteEverything calls the methods that delete the rows of callEverything.
func deleteEverything(t *testing.T, db *DB) {
	t.Helper()
	ctx := t.Context()
	for name, err := range map[string]error{
		"finish":     db.FinishIdempotency(ctx, "u", "k", 200, nil, time.Now()),
		"release":    db.ReleaseIdempotency(ctx, "u", "k"),
		"prune":      db.PruneIdempotency(ctx, time.Now()),
		"webhook":    db.DeleteWebhook(ctx, webhook.Owner{UserID: "u"}, "w"),
		"memory":     db.DeleteMemory(ctx, "u", "a", "m", time.Now()),
		"favourite":  db.DeleteFavourite(ctx, "u", "a", "c", time.Now()),
		"saved":      db.DeleteSavedSearch(ctx, "u", "a", "s"),
		"collection": db.DeleteCollection(ctx, "u", "l"),
		"thread":     db.DeleteThread(ctx, "u", "a", "t", time.Now()),
		"agent":      db.DeleteAgent(ctx, "u", "a"),
		"ping":       db.Ping(ctx),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryStatementUsesAnIndex(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	callEverything(t, db)
	deleteEverything(t, db)
	statements := slices.Compact(slices.Sorted(slices.Values(*seen)))
	if len(statements) < 45 {
		t.Errorf("only %d statements were recorded", len(statements))
	}
	bareLimit := regexp.MustCompile(`LIMIT \$\d+\s*$`)
	for _, statement := range statements {
		if bareLimit.MatchString(statement) {
			t.Errorf("SQLite prepares this again for every call; write LIMIT $n + 0: %s", statement)
		}
	}
	checkPlans(t, db, statements, func(step, statement string) bool {
		// Only operators list all users, and there is no other order to read them in.
		allUsers := strings.Contains(statement, "FROM app_user WHERE closing_at IS NULL ORDER BY id")
		values := strings.HasPrefix(step, "SCAN json_each") || strings.Contains(step, "CONSTANT ROW") ||
			strings.HasSuffix(step, "VALUES CLAUSE") || step == "SCAN place" // the single row of a new task
		return strings.HasPrefix(step, "SCAN") && (allUsers || values)
	})
}

func TestEveryReferenceHasAnIndex(t *testing.T) {
	t.Parallel()
	db := open(t, backends(t)[0].options)
	var table, id, column string
	references := map[string][]string{} // columns by table and constraint id
	err := db.read.each(t.Context(), `
		SELECT t.name, f.id, f."from" FROM sqlite_schema t JOIN pragma_foreign_key_list(t.name) f
		WHERE t.type = 'table' ORDER BY t.name, f.id, f.seq`, nil, []any{&table, &id, &column}, func() error {
		references[table+" "+id] = append(references[table+" "+id], column)
		return nil
	})
	if err != nil || len(references) < 14 {
		t.Fatalf("%d references (%v)", len(references), err)
	}
	for reference, columns := range references {
		table, _, _ := strings.Cut(reference, " ")
		indexes := map[string][]string{}
		var index, column string
		if err := db.read.each(t.Context(), `
			SELECT i.name, coalesce(c.name, '') FROM pragma_index_list($1) i JOIN pragma_index_info(i.name) c
			ORDER BY i.name, c.seqno`,
			args{table}, []any{&index, &column}, func() error {
				indexes[index] = append(indexes[index], column)
				return nil
			}); err != nil {
			t.Fatal(err)
		}
		served := false
		for _, indexed := range indexes {
			served = served || len(indexed) >= len(columns) && slices.Equal(indexed[:len(columns)], columns)
		}
		if !served {
			t.Errorf("deleting what %s refers to by %v has to read the whole table; indexes are %v", table, columns, indexes)
		}
	}
}

func TestDeletesCascade(t *testing.T) {
	t.Parallel()
	tables := []string{
		// deleted with an agent
		"embedding", "embedding_document", "source", "document", "thread", "message", "memory", "favourite", "saved_search",
		"collection_favourite", "agent", "collection", "credential_key", "connect_code", "budget", "spend_row",
		"idempotency", "webhook", "usage_day", // deleted with a user
	}
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			counts := func() map[string]int {
				t.Helper()
				all := map[string]int{}
				for _, table := range tables {
					n, err := db.Count(t.Context(), table)
					if err != nil {
						t.Fatal(err)
					}
					all[table] = n
				}
				return all
			}
			callEverything(t, db)
			if _, err := db.exec(t.Context(),
				"INSERT INTO budget (user_id, period, reserved, spent) VALUES ('u', '2000-01', 1, 2)"); err != nil {
				t.Fatal(err)
			}
			if found, err := db.KeyByHash(t.Context(), []byte("h"), "2000-01"); err != nil || found.Used != 3 {
				t.Errorf("spent and reserved %d (%v), want 3", found.Used, err)
			}
			for table, n := range counts() {
				if n == 0 {
					t.Errorf("%s is empty before anything is deleted", table)
				}
			}
			if err := db.DeleteAgent(t.Context(), "u", "a"); err != nil {
				t.Fatal(err)
			}
			left := counts()
			for _, table := range tables[:10] {
				if left[table] != 0 {
					t.Errorf("%d rows of %s outlive their agent", left[table], table)
				}
			}
			if _, err := db.exec(t.Context(), "DELETE FROM app_user"); err != nil {
				t.Fatal(err)
			}
			for table, n := range counts() {
				if n != 0 {
					t.Errorf("%d rows of %s outlive their user", n, table)
				}
			}
		})
	}
}

func TestDeletingMethodsWorkOnBothEngines(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			callEverything(t, db)
			deleteEverything(t, db)
		})
	}
}

// errorOf returns the error of a call whose other result is not used.
func errorOf[T any](_ T, err error) error { return err }
