package accountdata_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/favourite"
	"carrel/internal/accountdata"
	"carrel/internal/memory"
	"carrel/internal/secretbox"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// nothing is an engine for tests that do not search.
type nothing struct{ source.Engine }

// scripted answers as a test wants it to.
type scripted struct {
	answer func(ctx context.Context, q thread.Question) (thread.Answer, error)
}

func (s *scripted) Answer(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error) {
	var answer thread.Answer
	_, err := r.Step(ctx, "answer", "", func(ctx context.Context, _ *task.Step) (_ []byte, err error) {
		answer, err = s.answer(ctx, q)
		return nil, err
	})
	return answer, err
}

// world is an installation with an owner, Ada, and a member, Bob.
type world struct {
	t        *testing.T
	db       *store.DB
	postgres bool
	clock    *testkit.Clock
	log      *slog.Logger
	audit    *audit.Log
	answers  *scripted
	ada, bob account.User
	node
}

// node is a server of the installation, and services that have tasks.
type node struct {
	tasks     *task.Engine
	contents  accountdata.Contents
	exports   *accountdata.Exports
	deletions *accountdata.Deletions
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t, store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t, store.Options{URL: testkit.Postgres(t)}))
	})
}

func newWorld(t *testing.T, o store.Options) *world {
	t.Helper()
	w := &world{t: t, clock: testkit.NewClock(), log: slog.New(slog.DiscardHandler), postgres: o.URL != "", answers: &scripted{}}
	o.Log = w.log
	var err error
	w.db, err = store.Open(t.Context(), o)
	w.must(err)
	t.Cleanup(func() { _ = w.db.Close() })
	w.audit = audit.New(w.db, w.clock, nil, w.log)
	w.ada, w.bob = w.user("ada", core.RoleOwner), w.user("bob", core.RoleMember)
	w.node = w.start(accountdata.ExportOptions{Keep: 7 * 24 * time.Hour})
	return w
}

func (w *world) user(name string, role core.Role) account.User {
	w.t.Helper()
	u := account.User{ID: core.NewID(core.PrefixUser), Email: name + "@example.org", Name: name, Role: role, Plan: core.PlanOpen, CreatedAt: w.clock.Now()}
	w.must(w.db.InsertUser(w.t.Context(), u, "hash"))
	return u
}

// start starts one more server. On SQLite those before it count as dead then.
func (w *world) start(o accountdata.ExportOptions) node {
	w.t.Helper()
	return w.startLooking(o, 20*time.Millisecond)
}

// startLooking starts a server that looks this often for what nobody told it.
func (w *world) startLooking(o accountdata.ExportOptions, poll time.Duration) node {
	w.t.Helper()
	db, secret := w.db, make([]byte, 32)
	box, err := secretbox.New(secret, "test")
	w.must(err)
	n := node{tasks: task.New(db, w.clock, w.log, task.Options{Alone: !w.postgres, Poll: poll})}
	agents := agent.NewService(db, w.clock)
	threads := thread.NewService(db, agents, w.clock, n.tasks, w.answers)
	spending := account.NewSpending(db, w.clock, func(string) string { return "" })
	n.contents = accountdata.Contents{
		Profiles: account.NewProfiles(db, w.clock, w.audit), Usages: account.NewUsages(db, spending, w.clock),
		Plans: account.NewPlans(db, w.clock, w.audit, core.PlanOpen), Agents: agents,
		Sources:  source.NewService(db, agents, nothing{}, w.clock, source.Options{Sealer: box}),
		Memories: memory.NewService(db, agents, w.clock, strings.Fields), Favourites: favourite.NewService(db, agents, threads, w.clock),
		Threads: threads, Credentials: credential.NewService(db, w.clock, secret, credential.Prefixes{Key: "crl", Code: "crlc"}),
		Sessions: credential.NewSessions(db, w.clock, secret), Webhooks: webhook.NewService(db, box, w.clock, webhook.Options{}),
		Audit: w.audit, Store: db,
	}
	n.exports = accountdata.NewExports(db, accountdata.NewArchives(n.contents, w.clock), n.tasks, w.clock, w.audit, o)
	n.deletions = accountdata.NewDeletions(db, n.tasks, w.clock, w.log)
	for _, k := range []task.Kind{threads.Kind(), n.exports.Kind(), n.deletions.Kind()} {
		n.tasks.Register(k)
	}
	w.must(n.tasks.Start(w.t.Context()))
	w.t.Cleanup(func() { _ = n.tasks.Stop(context.Background()) })
	return n
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// session is somebody in a browser who has just signed in.
func (w *world) session(u account.User) core.Actor {
	return core.Actor{
		UserID: u.ID, Role: u.Role, Plan: u.Plan, CredentialID: "ses_" + u.Name, Credential: core.CredentialSession,
		Scopes: u.Role.Scopes(), AuthenticatedAt: w.clock.Now(),
	}
}

// key is a program of somebody's with these scopes.
func (w *world) key(u account.User, scopes ...core.Scope) core.Actor {
	a := w.session(u)
	a.Credential, a.CredentialID, a.Scopes = core.CredentialKey, "crd_"+u.Name, scopes
	return a
}

// agent makes an agent with documents.
func (w *world) agent(u account.User, documents iter.Seq2[source.Document, error]) string {
	w.t.Helper()
	ctx, actor, name := w.t.Context(), core.Operator(u.ID), "Agent of "+u.Name
	a, err := w.contents.Agents.Create(ctx, actor, agent.Change{Name: &name})
	w.must(err)
	src, err := w.contents.Sources.Default(ctx, actor, a.ID)
	w.must(err)
	_, err = w.contents.Sources.Import(ctx, actor, src, documents, nil)
	w.must(err)
	return a.ID
}

// download reads a complete export, and fails the test if a file of it can't be read.
func (w *world) download(n node, actor core.Actor) map[string]string {
	w.t.Helper()
	e, r, err := n.exports.Open(w.t.Context(), actor)
	w.must(err)
	all, err := io.ReadAll(r)
	w.must(err)
	if int64(len(all)) != e.Bytes {
		w.t.Fatalf("%d bytes of %d", len(all), e.Bytes)
	}
	archive, err := zip.NewReader(bytes.NewReader(all), e.Bytes)
	w.must(err)
	files := map[string]string{}
	for _, f := range archive.File {
		file, err := f.Open()
		w.must(err)
		b, err := io.ReadAll(file)
		w.must(err)
		w.must(file.Close())
		files[f.Name] = string(b)
	}
	return files
}
