package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/httpapi"
	"carrel/internal/oauth"
	"carrel/internal/obs"
	"carrel/internal/search/local"
	"carrel/internal/server"
	"carrel/internal/streamwatch"
	"carrel/internal/webapp"
	"carrel/internal/webhook"
	"carrel/web"
)

type serveCommand struct {
	Addr        *string `placeholder:"HOST:PORT" help:"${help_addr}"`
	Data        *string `placeholder:"DIR" help:"${help_data}"`
	BaseURL     *string `name:"base-url" placeholder:"URL" help:"${help_base_url}"`
	Database    *string `placeholder:"URL" help:"${help_database}"`
	TLSCert     *string `name:"tls-cert" placeholder:"FILE" help:"${help_tls_cert}"`
	TLSKey      *string `name:"tls-key" placeholder:"FILE" help:"${help_tls_key}"`
	MetricsAddr *string `name:"metrics-addr" placeholder:"HOST:PORT" help:"${help_metrics_addr}"`
	LogLevel    *string `name:"log-level" placeholder:"LEVEL" help:"${help_log_level}"`
	LogFormat   *string `name:"log-format" placeholder:"FORMAT" help:"${help_log_format}"`
	Demo        bool    `help:"${help_demo}"`
}

func (c serveCommand) load(env *Env) (config.Config, error) {
	f := flags{
		"addr": c.Addr, "data": c.Data, "base-url": c.BaseURL, "database": c.Database, "tls-cert": c.TLSCert,
		"tls-key": c.TLSKey, "metrics-addr": c.MetricsAddr, "log-level": c.LogLevel, "log-format": c.LogFormat,
	}
	if c.Demo {
		yes := "true"
		f["demo"] = &yes
	}
	return f.load(env)
}

// ballast returns memory that is never touched, and so takes no real memory. It counts as live, which keeps the collector
// from running every few megabytes while the heap is small: under load that is a tenth of the work. It comes in blocks,
// because one that begins where something else has been is cleared, which makes all of it real.
func ballast() [][]byte {
	blocks := make([][]byte, 48)
	for i := range blocks {
		blocks[i] = make([]byte, 1<<20)
	}
	return blocks
}

// gcPercent lets the heap grow by half of what is live before the collector runs. With the ballast that is never less than
// 24 MB, and while a library is imported some eighty megabytes less than the runtime's own choice takes.
const gcPercent = 50

// Run serves until the process is told to stop.
func (c serveCommand) Run(ctx context.Context, env *Env) error {
	defer runtime.KeepAlive(ballast())
	debug.SetGCPercent(gcPercent)
	cfg, err := c.load(env)
	if err != nil {
		return err
	}
	log := newLogger(env, cfg)
	for _, w := range cfg.Warnings {
		log.WarnContext(ctx, w)
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	lock, err := lockFolder(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // the kernel would do it
	in, err := open(ctx, env, cfg, log)
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, env, cfg, log, in), in.close())
}

func newLogger(env *Env, cfg config.Config) *slog.Logger {
	return obs.NewLogger(env.Err, obs.LogOptions{
		Format: cfg.LogFormat, Level: cfg.LogLevel, Terminal: isTerminal(env.Err),
		Prefixes: append([]string{cfg.KeyPrefix, cfg.CodePrefix, credential.SessionPrefix, credential.PendingPrefix, credential.BrowserPrefix, webhook.SecretPrefix, "sk_live", "sk_test", "rk_live", "rk_test"},
			oauth.PrefixesFor(cfg.KeyPrefix).All()...),
	})
}

func serve(ctx context.Context, env *Env, cfg config.Config, log *slog.Logger, in *installation) error {
	if err := errors.Join(in.declarePlans(ctx), in.sources.BindSecrets(ctx)); err != nil {
		return err
	}
	metrics := obs.NewMetrics(Version())
	draining := make(chan struct{})
	problems := httpapi.NewProblems(cfg.BaseURL, log)
	streams := streamwatch.NewSlots(cfg.EventStreams)
	api, err := httpapi.New(in.services(), httpapi.Hooks{Route: server.SetRoute, Admit: server.Admit},
		httpapi.Options{
			BaseURL: cfg.BaseURL, TurnWait: cfg.TurnWait, Draining: draining, Address: server.ClientAddr, Streams: streams, OAuthScopes: oauth.Scopes(),
		}, problems, log)
	if err != nil {
		return err
	}
	pages, err := in.newPages(cfg, log)
	if err != nil {
		return err
	}
	app, err := pages.WebApp(web.Files())
	if err != nil {
		return err
	}
	tools, err := in.newMCP(cfg, log, api, problems, streams, draining)
	if err != nil {
		return err
	}
	defer tools.Close()
	srv := server.New(cfg, log, metrics, server.Options{
		Routes: func(mux *http.ServeMux) {
			api.Routes(mux)
			tools.Routes(mux)
			pages.Routes(mux)
			app.Routes(mux)
			in.oauth.Routes(mux, pages)
		},
		Problem: problems.Write,
		// Waits and streams end, so that what is left are requests that end by themselves.
		Draining: sync.OnceFunc(func() { close(draining) }),
		Ready:    in.store.Ping,
		// As the API looks for it.
		SessionCookie: credential.SessionCookie(strings.HasPrefix(cfg.BaseURL, "https:")),
		Version:       Version(),
	})
	if err := srv.Listen(ctx); err != nil {
		return err
	}
	index, err := in.openIndex(ctx, log)
	if err != nil {
		return err
	}
	base := context.WithoutCancel(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return index.Run(ctx) })
	if err := in.prepare(ctx, env, cfg.Bound(srv.Addr()), index, metrics, log); err != nil {
		stop()
		return errors.Join(err, g.Wait(), in.closeIndex(index))
	}
	g.Go(func() error { return srv.Serve(ctx) })
	g.Go(func() error { return in.tend(ctx, log) })
	g.Go(func() error { return in.intake.Run(ctx) })
	if in.embedding != nil {
		g.Go(func() error { return in.embedding.Run(ctx) })
	}
	g.Go(func() error {
		<-ctx.Done()
		stopping, cancel := context.WithTimeout(base, cfg.ShutdownTimeout)
		defer cancel()
		return in.tasks.Stop(stopping)
	})
	err = g.Wait()
	// After the last request, so that all of them are written down.
	last, cancel := context.WithTimeout(base, 5*time.Second)
	defer cancel()
	err = errors.Join(err, in.flush(last))
	index.Finish(base, cfg.ShutdownTimeout)
	return errors.Join(err, in.closeIndex(index), in.scrub(base, log))
}

// prepare does what comes before the first request.
func (in *installation) prepare(ctx context.Context, env *Env, cfg config.Config, index *local.Node, metrics *obs.Metrics, log *slog.Logger) error {
	if err := welcome(ctx, env, cfg, in); err != nil {
		return err
	}
	for _, m := range []prometheus.Collector{newTaskMetrics(in.tasks, log), newIndexMetrics(index)} {
		if err := metrics.Register(m); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	if err := in.tasks.Start(ctx); err != nil {
		return fmt.Errorf("start the tasks: %w", err)
	}
	return index.WaitReady(ctx)
}

// How often small things are written down and old ones thrown away.
const (
	flushEvery      = 30 * time.Second
	pruneEvery      = time.Hour
	idempotencyLife = 24 * time.Hour
	deliveryLife    = 7 * 24 * time.Hour
	importLife      = 30 * 24 * time.Hour
	billingLife     = 60 * 24 * time.Hour // twice as long as Stripe can send an event again
)

// tend does the housekeeping of a running server until the context ends.
func (in *installation) tend(ctx context.Context, log *slog.Logger) error {
	flush, prune := time.NewTicker(flushEvery), time.NewTicker(pruneEvery)
	defer flush.Stop()
	defer prune.Stop()
	var rest quiet
	var scrubAfter time.Time
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-flush.C:
			err = in.flush(ctx)
			if now := in.clock.Now(); now.After(scrubAfter) {
				scrubbed := in.scrub(ctx, log)
				if scrubbed != nil {
					scrubAfter = now.Add(pruneEvery) // the disk may be too full for it; each attempt writes much
				}
				err = errors.Join(err, scrubbed)
			}
			rest.look()
		case <-prune.C:
			now := in.clock.Now()
			err = errors.Join(in.store.PruneIdempotency(ctx, now.Add(-idempotencyLife)),
				in.store.PruneDeliveries(ctx, now.Add(-deliveryLife)), in.store.PruneEmbeddingTasks(ctx, now.Add(-deliveryLife)),
				in.store.PruneImports(ctx, now.Add(-importLife)), in.oauth.Prune(ctx),
				in.sessions.Prune(ctx), in.tendSpend(ctx, log), in.pendings.Prune(ctx), in.limits.Prune(ctx), in.browsers.Prune(ctx), in.credentials.PruneCodes(ctx), in.sources.Prune(ctx),
				in.exports.Prune(ctx), in.deletions.Tend(ctx), in.store.PruneBillingEvents(ctx, now.Add(-billingLife)))
		}
		if err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "housekeeping failed; it is tried again later", slog.Any("error", err))
		}
	}
}

// welcome tells the person who started the server what to do first.
func welcome(ctx context.Context, env *Env, cfg config.Config, in *installation) error {
	if cfg.Demo {
		return startDemo(ctx, env, cfg, in)
	}
	users, err := in.accounts.List(ctx, core.Operator(""))
	if err != nil || len(users) > 0 {
		return err
	}
	where := "--data " + shellQuote(cfg.Data)
	if cfg.Database != "" {
		where = `--database "$CARREL_DATABASE"`
	}
	_, err = fmt.Fprintf(env.Out, `Nobody has an account yet. Make the first one, which will own this installation:

  Open      %s%s
  and type  %s

The code is good once. Or make the account here; it asks for the password:

  carrel admin %s user create --email you@example.org --name "Your Name" --password -

Then make a key for your programs:

  carrel admin %s key create --user you@example.org --name laptop

`, cfg.BaseURL, webapp.SetupPath, in.setupCode, where, where)
	return err
}
