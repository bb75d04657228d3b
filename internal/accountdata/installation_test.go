package accountdata_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/accountdata"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/bin"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/oauth"
	"carrel/internal/savedsearch"
	"carrel/internal/secretbox"
	"carrel/internal/sharelink"
	"carrel/internal/signin"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
	"carrel/internal/thread"
	"carrel/internal/transcript"
	"carrel/internal/webhook"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// nothing is a Ranker without results; search is not tested here.
type nothing struct{ source.Engine }

// scripted answers with a function of the test.
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

// installation is a database with an owner, Ada, and a member, Bob.
type installation struct {
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

// node is one server of the installation.
type node struct {
	tasks     *task.Engine
	contents  accountdata.Contents
	exports   *accountdata.Exports
	deletions *accountdata.Deletions
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(t *testing.T, w *installation)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newInstallation(t, store.Options{Path: fixture.SQLite(t)}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newInstallation(t, store.Options{URL: testkit.Postgres(t)}))
	})
}

func newInstallation(t *testing.T, o store.Options) *installation {
	t.Helper()
	w := &installation{
		t:        t,
		clock:    testkit.NewClock(),
		log:      slog.New(slog.DiscardHandler),
		postgres: o.URL != "",
		answers:  &scripted{},
	}
	o.Log, o.Bin = w.log, true
	var err error
	w.db, err = store.Open(t.Context(), o)
	w.must(err)
	t.Cleanup(func() { _ = w.db.Close() })
	w.audit = audit.New(audit.Deps{Store: w.db, Clock: w.clock, Log: w.log})
	w.ada, w.bob = w.user("ada", core.RoleOwner), w.user("bob", core.RoleMember)
	w.node = w.start(accountdata.ExportOptions{Keep: 7 * 24 * time.Hour})
	return w
}

func (w *installation) user(name string, role core.Role) account.User {
	w.t.Helper()
	u := account.User{
		ID:        core.NewID(core.PrefixUser),
		Email:     name + "@example.org",
		Name:      name,
		Role:      role,
		Plan:      core.PlanOpen,
		CreatedAt: w.clock.Now(),
	}
	w.must(w.db.InsertUser(w.t.Context(), u, "hash"))
	return u
}

// start starts another server. On SQLite this ends the leases of earlier ones.
func (w *installation) start(o accountdata.ExportOptions) node {
	w.t.Helper()
	return w.startPolling(o, 20*time.Millisecond)
}

// startPolling starts a server with a poll interval.
func (w *installation) startPolling(o accountdata.ExportOptions, poll time.Duration) node {
	w.t.Helper()
	db, secret := w.db, make([]byte, 32)
	box, err := secretbox.New(secret, "test")
	w.must(err)
	options := task.Options{SingleNode: !w.postgres, Poll: poll}
	n := node{tasks: task.New(task.Deps{Store: db, Clock: w.clock, Log: w.log}, options)}
	agents := agent.NewService(agent.Deps{Store: db, Clock: w.clock, Audit: w.audit})
	threads := thread.NewService(thread.Deps{
		Store: db, Agents: agents, Clock: w.clock, Tasks: n.tasks, Answerer: w.answers,
	})
	signIn := signin.NewService(signin.Deps{
		Store: db, Clock: w.clock, Audit: w.audit, Sealer: box, Key: secret,
		Sessions: credential.NewSessions(credential.SessionDeps{Store: db, Clock: w.clock, Audit: w.audit, HashKey: secret}),
	})
	grants, err := oauth.NewService(oauth.Deps{
		Store: db, Clock: w.clock, Audit: w.audit, Log: w.log, Secret: secret, HashKey: secret,
		Issuer: "https://carrel.test", Prefixes: oauth.PrefixesFor("crl"),
	})
	w.must(err)
	sources := source.NewService(source.Deps{
		Store: db, Agents: agents, Engine: nothing{}, Clock: w.clock, Sealer: box,
	})
	transcripts := transcript.NewReader(transcript.Deps{Threads: threads, Documents: sources})
	n.contents = accountdata.Contents{
		Accounts: account.NewService(account.Deps{Store: db, Clock: w.clock, Audit: w.audit, Passwords: signIn.Passwords}),
		Billing:  billing.NewService(billing.Deps{Store: db, Clock: w.clock, Audit: w.audit, DefaultPlan: core.PlanOpen}),
		Agents:   agents,
		Sources:  sources,
		Memories: memory.NewService(memory.Deps{Store: db, Agents: agents, Clock: w.clock, Terms: strings.Fields}),
		Saved:    savedsearch.NewService(savedsearch.Deps{Store: db, Agents: agents, Clock: w.clock}),
		Bin:      bin.NewService(bin.Deps{Store: db, Agents: agents, Clock: w.clock, Days: 30}),
		Favourites: favourite.NewService(favourite.Deps{
			Store: db, Agents: agents, Threads: threads, Documents: sources, Clock: w.clock,
		}),
		Threads:     threads,
		Transcripts: transcripts,
		Links: sharelink.NewService(sharelink.Deps{
			Store: db, Agents: agents, Threads: threads, Transcripts: transcripts, Clock: w.clock, Audit: w.audit,
			HashKey: secret, Prefix: "crll",
		}),
		Credentials: credential.NewService(credential.Deps{
			Store: db, Clock: w.clock, Audit: w.audit, HashKey: secret, Prefixes: credential.Prefixes{Key: "crl", Code: "crlc"},
			Agents: agents, Grants: grants, OAuth: credential.TokenDeps{Store: db, Audience: []string{"https://carrel.test"}},
		}),
		Sessions: credential.NewSessions(credential.SessionDeps{Store: db, Clock: w.clock, Audit: w.audit, HashKey: secret}),
		Webhooks: webhook.NewService(webhook.Deps{Store: db, Sealer: box, Clock: w.clock}, webhook.Options{}),
		Audit:    w.audit, Store: db, Originals: fakeOriginals{},
	}
	n.exports = accountdata.NewExports(accountdata.ExportDeps{
		Store: db, Archives: accountdata.NewArchives(n.contents, w.clock), Tasks: n.tasks, Clock: w.clock, Audit: w.audit,
	}, o)
	n.deletions = accountdata.NewDeletions(accountdata.DeletionDeps{Store: db, Tasks: n.tasks, Clock: w.clock, Log: w.log})
	for _, k := range []task.Kind{threads.Kind(), n.exports.Kind(), n.deletions.Kind()} {
		n.tasks.Register(k)
	}
	w.must(n.tasks.Start(w.t.Context()))
	w.t.Cleanup(func() { _ = n.tasks.Stop(context.Background()) })
	return n
}

func (w *installation) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// session returns an actor in a browser session with a fresh proof.
func (w *installation) session(u account.User) core.Actor {
	return core.Actor{
		UserID: u.ID, Role: u.Role, Plan: u.Plan, CredentialID: "ses_" + u.Name, Credential: core.CredentialSession,
		Scopes: u.Role.Scopes(), AuthenticatedAt: w.clock.Now(),
	}
}

// key returns an actor with an API key with these scopes.
func (w *installation) key(u account.User, scopes ...core.Scope) core.Actor {
	a := w.session(u)
	a.Credential, a.CredentialID, a.Scopes = core.CredentialKey, "crd_"+u.Name, scopes
	return a
}

// agent creates an agent with documents.
func (w *installation) agent(u account.User, documents iter.Seq2[source.Document, error]) string {
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

// download reads a complete export and fails the test if one of its files cannot be read.
func (w *installation) download(n node, actor core.Actor) map[string]string {
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
