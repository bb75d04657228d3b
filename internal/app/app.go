// Package app creates the services, connects them and runs the server. It contains no business rules.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"carrel/internal/account"
	"carrel/internal/accountdata"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/backup"
	"carrel/internal/billing"
	"carrel/internal/billing/stripe"
	"carrel/internal/bin"
	"carrel/internal/blob"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/embedding"
	"carrel/internal/favourite"
	"carrel/internal/federated"
	"carrel/internal/importer"
	"carrel/internal/memory"
	"carrel/internal/model"
	"carrel/internal/oauth"
	"carrel/internal/otlp"
	"carrel/internal/outbound"
	"carrel/internal/research"
	"carrel/internal/savedsearch"
	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/secretbox"
	"carrel/internal/sharelink"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/signin/upstream"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/transcript"
	"carrel/internal/webapp"
	"carrel/internal/webhook"
	"carrel/internal/zoteroexport"
)

// App holds an opened database and the services on it. The server and the commands of package cli share it.
type App struct {
	Config    config.Config
	Store     *store.DB
	Clock     core.Clock
	SetupCode string // authorizes the creation of the first account

	Accounts    *account.Service
	SignIn      *signin.Service
	Billing     *billing.Service
	Credentials *credential.Service
	OAuth       *oauth.Service
	Audit       *audit.Log
	Agents      *agent.Service
	Sources     *source.Service
	Imports     *importer.Service
	Originals   *blob.Service
	Tasks       *task.Engine
	Embedding   *embedding.Service // nil without an embedding endpoint
	Archives    *accountdata.Archives
	Deletions   *accountdata.Deletions

	sessions    *credential.Sessions
	payments    *stripe.Service // nil without a Stripe account
	passkeys    *passkey.Service
	upstream    *upstream.Service // nil without an OpenID provider
	memories    *memory.Service
	saved       *savedsearch.Service
	bin         *bin.Service
	favourites  *favourite.Service
	zotero      *zoteroexport.Service
	research    *research.Agent
	threads     *thread.Service
	transcripts *transcript.Reader
	links       *sharelink.Service
	texts       *research.TextChecker
	webhooks    *webhook.Service
	exports     *accountdata.Exports
	search      *search.Service
	catalogue   *federated.Searcher
	keys        keys
	originals   blob.Storage
	// backups and backupSchedule are nil unless backups are scheduled.
	backups        *backup.Service
	backupSchedule *backup.Scheduler
	replies        *secretbox.Box // encrypts stored replies that contain a secret
	meters         *meters
	tracer         *otlp.Tracer // nil unless traces are exported
	closers        []func()
}

// Options are the parts of an App that tests replace.
type Options struct {
	Log *slog.Logger
	// Answerer writes the replies of turns. Nil means the research agent.
	Answerer thread.Answerer
	// ResetKey accepts a secret key that is not the one of the database, whose stored secrets and credentials become
	// invalid.
	ResetKey bool
}

// sourceSecrets is the purpose of the encryption of the secrets of sources.
const sourceSecrets = "source secrets"

// databaseFile is the name of the SQLite file in the data folder.
const databaseFile = "carrel.db"

// DatabasePath returns the path of the SQLite file.
func DatabasePath(cfg config.Config) string { return filepath.Join(cfg.Data, databaseFile) }

// Open opens the configured database and creates the services on it. The caller must call Close.
func Open(ctx context.Context, cfg config.Config, o Options) (*App, error) {
	if cfg.Database == "" {
		if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
			return nil, fmt.Errorf("make the data folder: %w", err)
		}
		if err := checkRestored(cfg); err != nil {
			return nil, err
		}
	}
	db, err := store.Open(ctx, store.Options{
		Path: DatabasePath(cfg), URL: cfg.Database, DirectURL: cfg.Postgres.Direct,
		Connections: cfg.Postgres.Connections, StatementTimeout: cfg.Postgres.StatementTimeout, Log: o.Log,
		Bin: cfg.Retention.BinDays > 0,
	})
	if err != nil {
		return nil, err
	}
	k, err := loadKeys(ctx, cfg, db, o.ResetKey)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	in, err := wire(cfg, o, db, k)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return in, nil
}

// wire creates the services on an opened database.
func wire(cfg config.Config, o Options, db *store.DB, k keys) (*App, error) {
	log := o.Log
	replies, err := k.box(string(store.SealedReplies))
	if err != nil {
		return nil, err
	}
	signing, err := k.box(string(store.SealedWebhooks))
	if err != nil {
		return nil, err
	}
	sealed, err := k.box(sourceSecrets)
	if err != nil {
		return nil, err
	}
	clock := core.SystemClock{}
	in := &App{Config: cfg, Store: db, Clock: clock, keys: k, replies: replies, meters: newMeters()}
	in.tracer = newTracer(cfg.OTLP, log)
	in.Audit = audit.New(audit.Deps{Store: db, Clock: clock, Log: log, Address: clientAddress})
	provider, err := in.newModel()
	if err != nil {
		return nil, err
	}
	agents := agent.Deps{Store: db, Clock: clock, Audit: in.Audit}
	if o.Answerer == nil { // the answerer of a test takes any model
		agents.Models = append([]string{}, provider.Models()...)
	}
	in.Agents = agent.NewService(agents)
	prefixes := oauth.PrefixesFor(cfg.KeyPrefix)
	if in.OAuth, err = oauth.NewService(oauth.Deps{
		Store: db, Clock: clock, Audit: in.Audit, Log: log, Secret: k.current, Previous: k.previous, HashKey: k.hash,
		Issuer: cfg.BaseURL, Prefixes: prefixes, Address: clientAddress,
		Documents: in.newClient(outbound.Options{Private: cfg.OutboundPrivate, Timeout: 5 * time.Second}),
	}); err != nil {
		return nil, err
	}
	in.Credentials = credential.NewService(credential.Deps{
		Store: db, Clock: clock, Audit: in.Audit, HashKey: k.hash, Agents: in.Agents, Grants: in.OAuth, Caller: caller,
		Prefixes: credential.Prefixes{Key: cfg.KeyPrefix, Code: cfg.CodePrefix},
		OAuth:    credential.TokenDeps{Store: db, Prefix: prefixes.Access, Audience: oauth.Resources(cfg.BaseURL)},
	})
	in.sessions = credential.NewSessions(credential.SessionDeps{Store: db, Clock: clock, Audit: in.Audit, HashKey: k.hash})
	in.Billing = in.newBilling()
	in.payments = in.newPayments(cfg, log)
	if err := in.wireSignIn(cfg, k, log); err != nil {
		return nil, err
	}
	in.SetupCode = webapp.SetupCode(k.hash)
	in.Tasks = task.New(task.Deps{Store: db, Clock: clock, Log: log, Tracer: newTaskTracer(in.tracer)},
		task.Options{
			Version: Version(), SingleNode: cfg.Database == "", Keep: time.Duration(cfg.Retention.TaskDays) * day,
		})
	in.registerRetention(log)
	in.wireSearch(cfg, log)
	if err := in.wireOriginals(cfg); err != nil {
		return nil, err
	}
	in.wireSources(cfg, sealed)
	in.memories = memory.NewService(memory.Deps{Store: db, Agents: in.Agents, Clock: clock, Terms: analysis.Stems})
	in.saved = savedsearch.NewService(savedsearch.Deps{Store: db, Agents: in.Agents, Clock: clock})
	in.bin = bin.NewService(bin.Deps{Store: db, Agents: in.Agents, Clock: clock, Days: cfg.Retention.BinDays})
	in.research = in.newResearch(o, provider)
	in.threads = thread.NewService(thread.Deps{
		Store: db, Agents: in.Agents, Clock: clock, Tasks: in.Tasks, Answerer: in.answerer(o),
		Deadline: turnDeadline(cfg.Model), Limits: thread.Limits(cfg.Turns),
	})
	in.Tasks.Register(in.threads.Kind())
	in.transcripts = transcript.NewReader(transcript.Deps{Threads: in.threads, Documents: in.Sources})
	in.links = sharelink.NewService(sharelink.Deps{
		Store: db, Agents: in.Agents, Threads: in.threads, Transcripts: in.transcripts, Clock: clock, Audit: in.Audit,
		HashKey: k.hash, Prefix: cfg.KeyPrefix + "l", Disabled: !cfg.ShareLinks,
	})
	in.texts = in.newTextChecker(o, provider)
	in.wireImporter(cfg, log)
	in.webhooks = webhook.NewService(webhook.Deps{Store: db, Sealer: signing, Clock: clock},
		webhook.Options{Private: cfg.OutboundPrivate, Attempted: in.meters.attempted})
	in.Tasks.Register(in.webhooks.Kind())
	in.favourites = favourite.NewService(favourite.Deps{
		Store: db, Agents: in.Agents, Threads: in.threads, Documents: in.Sources, Clock: clock,
	})
	in.wireZotero(cfg)
	in.wireAccountData(cfg, log)
	return in, in.wireBackups(cfg, log)
}

// wireSearch creates the search service, with an endpoint for embeddings if it is configured. The index computes
// built-in embeddings itself.
func (in *App) wireSearch(cfg config.Config, log *slog.Logger) {
	e := cfg.Embeddings
	if !e.Endpoint() {
		in.search = search.NewService(nil, e.FusionWeight(), log)
		return
	}
	client := model.NewEmbeddingClient(model.EmbeddingOptions{
		URL: e.URL, Key: e.Key, Model: e.Model, Dims: e.Dimensions,
	}, in.Clock)
	in.closers = append(in.closers, client.Close)
	in.Embedding = embedding.NewService(embedding.Deps{
		Store: in.Store, Embedder: in.traceEmbedder(meteredEmbedder{client, in.meters}), Tasks: in.Tasks,
		Payer: payer{spending: in.Billing.Spending, meters: in.meters},
		Clock: in.Clock, Log: log,
	}, e.Price)
	in.Tasks.Register(in.Embedding.Kind())
	in.search = search.NewService(in.Embedding, e.FusionWeight(), log)
}

// Close closes the database and the clients of outside services.
func (in *App) Close() error {
	for _, f := range in.closers {
		f()
	}
	return in.Store.Close()
}

// flush writes the counters that services keep in memory to the database.
func (in *App) flush(ctx context.Context) error {
	return errors.Join(in.Credentials.FlushUses(ctx), in.Sources.FlushSearches(ctx))
}
