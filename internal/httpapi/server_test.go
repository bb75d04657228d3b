package httpapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/accountdata"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/bin"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/favourite"
	"carrel/internal/httpapi"
	"carrel/internal/memory"
	"carrel/internal/oauth"
	"carrel/internal/obs"
	"carrel/internal/research"
	"carrel/internal/savedsearch"
	"carrel/internal/secretbox"
	"carrel/internal/server"
	"carrel/internal/sharelink"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/echo"
	"carrel/internal/testkit/fixture"
	"carrel/internal/testkit/indexed"
	"carrel/internal/thread"
	"carrel/internal/transcript"
	"carrel/internal/webhook"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// baseURL is the configured URL of the API.
const baseURL = "https://carrel.test"

// secret is the installation's secret.
var secret = []byte("a secret of the installation")

// test is a named subtest.
type test struct {
	name string
	run  func(t *testing.T, w *testServer)
}

// onBothDatabases runs tests concurrently on one server per database. Each test creates its own users. Tests may
// advance the clock by milliseconds only.
func onBothDatabases(t *testing.T, tests []test) {
	t.Helper()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newServer(t, open(t))
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(t, w)
				})
			}
		})
	}
}

// inTurn is onBothDatabases for tests that advance the clock further or count writes. They run sequentially.
func inTurn(t *testing.T, tests []test) {
	t.Helper()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newServer(t, open(t))
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) { test.run(t, w) })
			}
		})
	}
}

// engines open a new database of each kind.
var engines = map[string]func(testing.TB) *store.DB{
	"sqlite": func(t testing.TB) *store.DB {
		return openStore(t, store.Options{Path: fixture.SQLite(t)})
	},
	"postgres": func(t testing.TB) *store.DB {
		url := testkit.PostgresTemplate(t, "httpapi", func(url string) error {
			db, err := store.Open(context.Background(), store.Options{URL: url})
			if err != nil {
				return err
			}
			return db.Close()
		})
		return openStore(t, store.Options{URL: url})
	},
}

func openStore(t testing.TB, o store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return db
}

// testServer is the API behind the real server middleware, on a real database, with a clock that tests set.
type testServer struct {
	db          *store.DB
	clock       *testkit.Clock
	log         *testkit.Log
	claims      *claims
	credentials *credential.Service
	sessions    *credential.Sessions
	signIn      signIn
	audit       *audit.Log
	oauth       *oauth.Service
	tokens      oauth.Prefixes
	agents      *agent.Service
	sources     *source.Service
	engine      *engine
	threads     *thread.Service
	memories    *memory.Service
	deletions   *accountdata.Deletions
	api         *httpapi.API
	handler     http.Handler
	answerer    *answerer
	draining    chan struct{}
	url         string
	client      *http.Client
	stop        func() // waits for requests, so that the log is complete
	// admitted, if set, is called after the credential of a request was accepted and before the request is served.
	admitted atomic.Pointer[func(core.Actor)]
}

// newServer wires the API like the program. settings are pairs of a name and a value.
func newServer(t testing.TB, db *store.DB, settings ...string) *testServer {
	t.Helper()
	w := &testServer{
		db: db, clock: testkit.NewClock(), log: &testkit.Log{}, claims: &claims{DB: db}, answerer: &answerer{},
		draining: make(chan struct{}),
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", w.log.Excerpt())
		}
	})
	overrides := map[string]string{"data": t.TempDir(), "base-url": baseURL, "rate-limits": "off"}
	for pair := range slices.Chunk(settings, 2) {
		overrides[pair[0]] = pair[1]
	}
	cfg, err := config.Load(config.LoadOptions{Getenv: func(string) string { return "" }, Overrides: overrides})
	if err != nil {
		t.Fatal(err)
	}
	prefixes := []string{cfg.KeyPrefix, cfg.CodePrefix}
	log := obs.NewLogger(w.log, obs.LogOptions{Format: "json", Level: slog.LevelDebug, Prefixes: prefixes})
	w.audit = audit.New(audit.Deps{Store: db, Clock: w.clock, Log: log})
	w.sessions = credential.NewSessions(credential.SessionDeps{Store: db, Clock: w.clock, Audit: w.audit, HashKey: secret})
	w.agents = agent.NewService(agent.Deps{Store: db, Clock: w.clock, Audit: w.audit})
	w.tokens = oauth.PrefixesFor(cfg.KeyPrefix)
	w.oauth, err = oauth.NewService(oauth.Deps{
		Store: db, Clock: w.clock, Audit: w.audit, Log: log, Secret: secret, HashKey: secret,
		Issuer: baseURL, Prefixes: w.tokens,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.credentials = credential.NewService(credential.Deps{
		Store: db, Clock: w.clock, Audit: w.audit, HashKey: secret, Agents: w.agents, Grants: w.oauth,
		Prefixes: credential.Prefixes{Key: cfg.KeyPrefix, Code: cfg.CodePrefix},
		OAuth:    credential.TokenDeps{Store: db, Prefix: w.tokens.Access, Audience: oauth.Resources(baseURL)},
		Caller: func(ctx context.Context) (string, string) {
			return server.ClientAddr(ctx).String(), server.Program(ctx)
		},
	})
	w.engine = &engine{Engine: indexed.Open(t, db)}
	w.sources = source.NewService(source.Deps{Store: db, Agents: w.agents, Engine: w.engine, Clock: w.clock})
	tasks := task.New(task.Deps{Store: db, Clock: w.clock, Log: log}, task.Options{SingleNode: true})
	w.threads = thread.NewService(thread.Deps{
		Store: db, Agents: w.agents, Clock: w.clock, Tasks: tasks, Answerer: w.answerer,
	})
	tasks.Register(w.threads.Kind())
	box, err := secretbox.New([]byte("a secret of the installation"), "test")
	if err != nil {
		t.Fatal(err)
	}
	webhooks := webhook.NewService(webhook.Deps{Store: db, Sealer: box, Clock: w.clock},
		webhook.Options{Private: cfg.OutboundPrivate})
	tasks.Register(webhooks.Kind())
	w.deletions = accountdata.NewDeletions(accountdata.DeletionDeps{Store: db, Tasks: tasks, Clock: w.clock, Log: log})
	tasks.Register(w.deletions.Kind())
	if err := tasks.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tasks.Stop(context.Background()); err != nil {
			t.Errorf("stop the tasks: %v", err)
		}
	})
	w.memories = memory.NewService(memory.Deps{Store: db, Agents: w.agents, Clock: w.clock})
	w.signIn = newSignIn(t, w, secret)
	transcripts := transcript.NewReader(transcript.Deps{Threads: w.threads, Documents: w.sources})
	problems := httpapi.NewProblems(cfg.BaseURL, log)
	api, err := httpapi.New(httpapi.Services{
		Billing: billing.NewService(billing.Deps{Store: db, Clock: w.clock, Audit: w.audit, DefaultPlan: core.PlanOpen}),
		Tasks:   task.NewAdmin(db, tasks), Deletions: w.deletions,
		Agents: w.agents, Sources: w.sources, Memories: w.memories,
		Saved: savedsearch.NewService(savedsearch.Deps{Store: db, Agents: w.agents, Clock: w.clock}),
		Bin:   bin.NewService(bin.Deps{Store: db, Agents: w.agents, Clock: w.clock, Days: 30}),
		Favourites: favourite.NewService(favourite.Deps{
			Store: db, Agents: w.agents, Threads: w.threads, Documents: w.sources, Clock: w.clock,
		}), Threads: w.threads, Transcripts: transcripts,
		Links: sharelink.NewService(sharelink.Deps{
			Store: db, Agents: w.agents, Threads: w.threads, Transcripts: transcripts, Clock: w.clock, Audit: w.audit,
			HashKey: []byte("secret"), Prefix: "crll",
		}),
		Webhooks: webhooks,
		Texts: research.NewTextChecker(research.TextCheckerDeps{
			Access: w.agents, Agents: db, Library: w.sources, Clock: w.clock, Log: log,
		}, research.TextCheckerOptions{}),
		Credentials: w.credentials, Sessions: w.sessions, Accounts: w.signIn.accounts, Auth: w.signIn.Service,
		Passkeys: w.signIn.passkeys, Audit: w.audit, Attempts: w.oauth,
		Examples:    suggestions{},
		Idempotency: w.claims, Leases: w.db, Sealer: box, Clock: w.clock,
	}, httpapi.Hooks{Route: server.SetRoute, Admit: w.admit},
		httpapi.Options{BaseURL: cfg.BaseURL, TurnWait: cfg.TurnWait, Draining: w.draining}, problems, log)
	if err != nil {
		t.Fatal(err)
	}
	srv := server.New(cfg, log, obs.NewMetrics("test"), server.Options{
		Routes: func(mux *http.ServeMux) {
			api.Routes(mux)
			w.oauth.Routes(mux, nil) // its pages are not requested in these tests
		},
		Problem: problems.Write, Ready: db.Ping,
	})
	w.api, w.handler = api, srv.Handler()
	h := httptest.NewServer(w.handler)
	t.Cleanup(h.Close)
	w.url, w.client, w.stop = h.URL, h.Client(), h.Close
	return w
}

func (w *testServer) admit(ctx context.Context, who core.Actor) error {
	err := server.Admit(ctx, who)
	if f := w.admitted.Load(); f != nil && err == nil {
		(*f)(who)
	}
	return err
}

// suggestions suggests one question for every agent.
type suggestions struct{}

func (suggestions) Suggest(_ context.Context, userID string, a agent.Agent) ([]string, error) {
	if userID == "" || a.ID == "" {
		return nil, errors.New("no user or agent")
	}
	return []string{"What is in " + a.Name + "?"}, nil
}

// answerer echoes messages unless a test has set a script for the question.
type answerer struct {
	echo.Answerer
	scripts sync.Map // question text to script
}

// script runs a turn and returns the text of its reply.
type script func(ctx context.Context, r *task.Run, q thread.Question) (string, error)

// answering is a script that returns a complete answer.
type answering func(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error)

// Answer runs the script of the question.
func (a *answerer) Answer(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error) {
	scripted, _ := a.scripts.Load(q.Text)
	switch s := scripted.(type) {
	case script:
		text, err := s(ctx, r, q)
		return thread.Answer{Text: text}, err
	case answering:
		return s(ctx, r, q)
	}
	return a.Answerer.Answer(ctx, r, q)
}

// claims lets a test interrupt a request after it claimed its Idempotency-Key, or after its work, like a crash.
type claims struct {
	*store.DB
	mu           sync.Mutex
	afterClaim   map[string]func() error
	beforeFinish map[string]func() error
}

func (c *claims) hook(at *map[string]func() error, key string, f func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *at == nil {
		*at = map[string]func() error{}
	}
	(*at)[key] = f
}

// take returns the hook of a key and removes it.
func (c *claims) take(at *map[string]func() error, key string) func() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := (*at)[key]
	if f == nil {
		return func() error { return nil }
	}
	delete(*at, key)
	return f
}

// ClaimIdempotency claims the key and then runs the test's hook.
func (c *claims) ClaimIdempotency(
	ctx context.Context, userID, key string, hash []byte, seed string, now, lockUntil time.Time,
) (core.IdempotencyRecord, bool, error) {
	rec, mine, err := c.DB.ClaimIdempotency(ctx, userID, key, hash, seed, now, lockUntil)
	if err == nil && mine {
		err = c.take(&c.afterClaim, key)()
	}
	return rec, mine, err
}

// FinishIdempotency runs the test's hook and then stores the reply.
func (c *claims) FinishIdempotency(
	ctx context.Context, userID, key string, status int, body []byte, now time.Time,
) error {
	if err := c.take(&c.beforeFinish, key)(); err != nil {
		return err
	}
	return c.DB.FinishIdempotency(ctx, userID, key, status, body, now)
}

// testUser is a user with a key and an agent, who sends requests.
type testUser struct {
	t     *testing.T
	w     *testServer
	id    string
	token string
	agent string
}

// user adds a user with a plan, a key and an agent. The user has no password, because hashing one is slow.
func (w *testServer) user(t *testing.T, plan string) *testUser {
	t.Helper()
	id := core.NewID(core.PrefixUser)
	u := account.User{
		ID: id, Email: id + "@example.org", EmailVerified: true, Name: "P", Role: core.RoleMember, Plan: plan,
		CreatedAt: w.clock.Now(),
	}
	if err := w.db.InsertUser(t.Context(), u, "none"); err != nil {
		t.Fatal(err)
	}
	p := &testUser{t: t, w: w, id: id}
	p.token = p.key(credential.NewKey{Name: "test"})
	p.agent = p.newAgent("Landmarks")
	return p
}

// makeAdmin replaces the user by an administrator.
func (w *testServer) makeAdmin(t *testing.T, p *testUser) {
	t.Helper()
	id := core.NewID(core.PrefixUser)
	u := account.User{
		ID: id, Email: id + "@example.org", Name: "A", Role: core.RoleAdmin, Plan: core.PlanOpen, CreatedAt: w.clock.Now(),
	}
	if err := w.db.InsertUser(t.Context(), u, "none"); err != nil {
		t.Fatal(err)
	}
	p.id = id
}

// key creates another key for the user.
func (p *testUser) key(n credential.NewKey) string {
	p.t.Helper()
	_, token, err := p.w.credentials.CreateKey(p.t.Context(), core.Operator(p.id), n)
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}

// with returns the same user with another credential.
func (p *testUser) with(token string) *testUser {
	other := *p
	other.token = token
	return &other
}

func (p *testUser) newAgent(name string) string {
	p.t.Helper()
	a, err := p.w.agents.Create(p.t.Context(), core.Operator(p.id), agent.Change{Name: &name})
	if err != nil {
		p.t.Fatal(err)
	}
	return a.ID
}

func (p *testUser) newThread(title string) string {
	p.t.Helper()
	return p.post(p.at("/threads"), object{"title": title}).ok(p.t).str("thread", "id")
}

// at returns a path below the user's agent.
func (p *testUser) at(path string) string { return "/api/agents/" + p.agent + path }
