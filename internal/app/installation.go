package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"carrel/internal/account"
	"carrel/internal/accountdata"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/embedding"
	"carrel/internal/favourite"
	"carrel/internal/importer"
	"carrel/internal/memory"
	"carrel/internal/model"
	"carrel/internal/oauth"
	"carrel/internal/outbound"
	"carrel/internal/passkey"
	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/secretbox"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/upstream"
	"carrel/internal/webapp"
	"carrel/internal/webhook"
)

// installation is an opened database with all services on it. The server and the commands work with the same.
type installation struct {
	config   config.Config
	store    *store.DB
	clock    core.Clock
	accounts *account.Service
	profiles *account.Profiles
	plans    *account.Plans
	// billing is nil unless the settings name a Stripe account.
	billing     *billing.Service
	spending    *account.Spending
	usages      *account.Usages
	directory   *account.Directory
	credentials *credential.Service
	oauth       *oauth.Service
	sessions    *credential.Sessions
	pendings    *credential.Pendings
	browsers    *credential.Browsers
	limits      *account.Limits
	factors     *account.Factors
	resets      *account.Resets
	proofs      *account.Proofs
	passkeys    *passkey.Service
	// upstream is nil unless the settings name another provider.
	upstream   *upstream.Service
	audit      *audit.Log
	agents     *agent.Service
	sources    *source.Service
	intake     *importer.Service
	memories   *memory.Service
	favourites *favourite.Service
	threads    *thread.Service
	webhooks   *webhook.Service
	archives   *accountdata.Archives
	exports    *accountdata.Exports
	deletions  *accountdata.Deletions
	tasks      *task.Engine
	search     *search.Service
	// embedding is nil unless the settings name an endpoint for it.
	embedding *embedding.Service
	closers   []func()
	// setupCode is what the first person proves themselves with.
	setupCode string
	// replies seals the ones that hold a secret and are kept for a retry.
	replies *secretbox.Box
}

// open opens the database that the settings name and wires the services.
func open(ctx context.Context, env *Env, cfg config.Config, log *slog.Logger) (*installation, error) {
	if cfg.Database == "" {
		if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
			return nil, fmt.Errorf("make the data folder: %w", err)
		}
	}
	db, err := store.Open(ctx, store.Options{Path: databasePath(cfg), URL: cfg.Database, Log: log})
	if err != nil {
		return nil, err
	}
	secret := []byte(cfg.SecretKey)
	if len(secret) == 0 {
		if secret, err = db.Secret(ctx); err != nil {
			_ = db.Close() // the first error tells
			return nil, err
		}
	}
	in, err := wire(env, cfg, log, db, secret)
	if err != nil {
		_ = db.Close() // as above
		return nil, err
	}
	return in, nil
}

// wire makes the services on an opened database.
func wire(env *Env, cfg config.Config, log *slog.Logger, db *store.DB, secret []byte) (*installation, error) {
	replies, err := secretbox.New(secret, "replies")
	if err != nil {
		return nil, err
	}
	signing, err := secretbox.New(secret, "webhook secrets")
	if err != nil {
		return nil, err
	}
	sealed, err := secretbox.New(secret, "source secrets")
	if err != nil {
		return nil, err
	}
	clock := core.SystemClock{}
	in := &installation{config: cfg, store: db, clock: clock, replies: replies}
	in.accounts = account.NewService(db, clock, cfg.DefaultPlan)
	in.credentials = credential.NewService(db, clock, secret, credential.Prefixes{Key: cfg.KeyPrefix, Code: cfg.CodePrefix})
	prefixes := oauth.PrefixesFor(cfg.KeyPrefix)
	if in.oauth, err = oauth.New(db, clock, secret, oauth.Options{
		Issuer: cfg.BaseURL, Prefixes: prefixes, Address: clientAddress,
		Documents: outbound.NewClient(outbound.Options{Private: cfg.OutboundPrivate, Timeout: 5 * time.Second}),
	}, log); err != nil {
		return nil, err
	}
	in.credentials.AcceptTokens(db, prefixes.Access, oauth.Resources(cfg.BaseURL))
	in.sessions = credential.NewSessions(db, clock, secret)
	in.audit = audit.New(db, clock, clientAddress, log)
	in.credentials.RecordTo(in.audit)
	in.credentials.DescribeCallers(caller)
	in.credentials.EndGrants(in.oauth)
	in.sessions.RecordTo(in.audit)
	in.oauth.RecordTo(in.audit)
	in.profiles = account.NewProfiles(db, clock, in.audit)
	in.plans = account.NewPlans(db, clock, in.audit, cfg.DefaultPlan)
	in.spending = in.newSpending()
	in.usages = account.NewUsages(db, in.spending, clock)
	in.directory = account.NewDirectory(db, clock, in.audit)
	in.billing = in.newBilling(cfg, log)
	if err := in.wireSignIn(cfg, secret, log); err != nil {
		return nil, err
	}
	in.setupCode = webapp.SetupCode(secret)
	in.agents = agent.NewService(db, clock)
	in.credentials.KnowAgents(in.agents)
	in.tasks = task.New(db, clock, log, task.Options{Version: Version(), Alone: cfg.Database == ""})
	in.wireSearch(cfg, log)
	in.wireSources(cfg, sealed)
	in.memories = memory.NewService(db, in.agents, clock, analysis.Stems)
	answerer, err := in.newAnswerer(env, log)
	if err != nil {
		return nil, err
	}
	in.threads = thread.NewService(db, in.agents, clock, in.tasks, answerer)
	in.tasks.Register(in.threads.Kind())
	in.wireIntake(cfg, log)
	in.webhooks = webhook.NewService(db, signing, clock, webhook.Options{Private: cfg.OutboundPrivate})
	in.tasks.Register(in.webhooks.Kind())
	in.favourites = favourite.NewService(db, in.agents, in.threads, clock)
	in.favourites.KeepDocumentsIn(in.sources)
	in.wireLeave(cfg, log)
	return in, nil
}

// wireSearch makes the search service, with embeddings if the settings name an endpoint for them.
func (in *installation) wireSearch(cfg config.Config, log *slog.Logger) {
	e := cfg.Embeddings
	if !e.On() {
		in.search = search.NewService(nil, log)
		return
	}
	client := model.NewEmbeddingClient(model.EmbeddingOptions{
		URL: e.URL, Key: e.Key, Model: e.Model, Dims: e.Dimensions,
	}, in.clock)
	in.closers = append(in.closers, client.Close)
	in.embedding = embedding.NewService(in.store, client, in.tasks, in.clock, log, e.Price)
	in.embedding.PayBy(payer{spending: in.spending})
	in.tasks.Register(in.embedding.Kind())
	in.search = search.NewService(in.embedding, log)
}

func (in *installation) close() error {
	for _, f := range in.closers {
		f()
	}
	return in.store.Close()
}

// flush writes down what services gather in memory.
func (in *installation) flush(ctx context.Context) error {
	return errors.Join(in.credentials.FlushUses(ctx), in.sources.FlushSearches(ctx))
}
