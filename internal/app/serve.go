package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"carrel/internal/config"
	"carrel/internal/credential"
	"carrel/internal/httpapi"
	"carrel/internal/oauth"
	"carrel/internal/obs"
	"carrel/internal/server"
	"carrel/internal/streamwatch"
	"carrel/web"
)

// ServeOptions configure a server.
type ServeOptions struct {
	Log *slog.Logger
	// Listening is called when the server has its address and before it accepts requests.
	Listening func(ctx context.Context, cfg config.Config) error
	// Reload receives a value for each SIGHUP. It may be nil.
	Reload <-chan os.Signal
}

// Serve runs the server until ctx ends. The caller holds the lock of the data folder.
func (in *App) Serve(ctx context.Context, o ServeOptions) error {
	cfg, log := in.Config, o.Log
	if err := errors.Join(in.declarePlans(ctx), in.Sources.BindSecrets(ctx), in.resealAtStart(ctx, log)); err != nil {
		return err
	}
	metrics := obs.NewMetrics(Version())
	draining := make(chan struct{})
	problems := httpapi.NewProblems(cfg.BaseURL, log)
	streams := streamwatch.NewSlots(cfg.EventStreams)
	api, err := httpapi.New(in.services(), httpapi.Hooks{Route: server.SetRoute, Admit: server.Admit},
		httpapi.Options{
			BaseURL: cfg.BaseURL, TurnWait: cfg.TurnWait, Draining: draining, Address: server.ClientAddr,
			Streams: streams, OAuthScopes: oauth.Scopes(),
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
	tools := in.newMCP(cfg, log, api, problems, streams, draining)
	defer tools.Close()
	ready := &readiness{in: in}
	srv := server.New(cfg, log, metrics, server.Options{
		Routes: func(mux *http.ServeMux) {
			api.Routes(mux)
			tools.Routes(mux)
			pages.Routes(mux)
			app.Routes(mux)
			in.OAuth.Routes(mux, pages)
		},
		Agents:  api.Handler(),
		Problem: pages.NotFound(problems.Write),
		// Long polls and streams end at once; other requests end by themselves.
		Draining:      sync.OnceFunc(func() { close(draining) }),
		Ready:         ready.check,
		Notice:        ready.notice,
		SessionCookie: credential.SessionCookie(strings.HasPrefix(cfg.BaseURL, "https:")),
		Shared:        in.sharedLimits(),
		Version:       Version(),
		Reload:        o.Reload,
		Tracer:        in.tracer,
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
	listening := func() error { return o.Listening(ctx, cfg.Bound(srv.Addr())) }
	if err := errors.Join(metrics.Register(in.collectors(index, streams, log)...),
		in.prepare(ctx, listening, index)); err != nil {
		stop()
		return errors.Join(err, g.Wait(), in.closeIndex(index))
	}
	ready.index.Store(&index)
	stopExport := in.exportTelemetry(base, metrics)
	g.Go(func() error { return srv.Serve(ctx) })
	in.runInBackground(ctx, g, log)
	g.Go(func() error {
		<-ctx.Done()
		stopping, cancel := context.WithTimeout(base, cfg.ShutdownTimeout)
		defer cancel()
		return in.Tasks.Stop(stopping)
	})
	err = g.Wait()
	stopExport() // reads metrics of the index, which finish closes
	return errors.Join(err, in.finish(base, index, log))
}

// sharedLimits returns the store of the rate limits of all nodes; nil on SQLite, where a single node serves.
func (in *App) sharedLimits() *server.SharedLimits {
	if in.Config.Database == "" {
		return nil
	}
	return &server.SharedLimits{Store: in.Store, Secret: in.keys.hash}
}

// runInBackground starts what runs beside the requests.
func (in *App) runInBackground(ctx context.Context, g *errgroup.Group, log *slog.Logger) {
	g.Go(func() error { return in.runHousekeeping(ctx, log) })
	g.Go(func() error { return in.detectLanguages(ctx, log) })
	g.Go(func() error { return in.Imports.Run(ctx) })
	g.Go(func() error { return in.runBackups(ctx) })
	if in.Embedding != nil {
		g.Go(func() error { return in.Embedding.Run(ctx) })
	}
}

// finish saves the state in memory after the last request.
func (in *App) finish(ctx context.Context, index searchNode, log *slog.Logger) error {
	last, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := in.flush(last)
	index.Finish(ctx, in.Config.ShutdownTimeout)
	return errors.Join(err, in.closeIndex(index), in.Scrub(ctx, log))
}

// A starting server waits for its index: long enough for changes made while it was down, and for a small library. A
// longer rebuild continues while the server answers requests. The demo prints commands to paste, which should find its
// library even on a busy machine.
const (
	indexTimeout     = 2 * time.Second
	demoIndexTimeout = time.Minute
)

// prepare starts everything that the first request needs.
func (in *App) prepare(ctx context.Context, listening func() error, index searchNode) error {
	if err := listening(); err != nil {
		return err
	}
	if err := in.Tasks.Start(ctx); err != nil {
		return fmt.Errorf("start tasks: %w", err)
	}
	timeout := indexTimeout
	if in.Config.Demo {
		timeout = demoIndexTimeout
	}
	return index.WaitReady(ctx, timeout)
}

// Housekeeping intervals.
const (
	startGrace = time.Second // until the garbage of the start is returned, after the first requests
	flushEvery = 30 * time.Second
	pruneEvery = time.Hour
)

// runHousekeeping flushes counters and starts the retention task until ctx ends.
func (in *App) runHousekeeping(ctx context.Context, log *slog.Logger) error {
	flush, prune := time.NewTicker(flushEvery), time.NewTicker(pruneEvery)
	defer flush.Stop()
	defer prune.Stop()
	started := time.After(startGrace)
	var memory memoryReturner
	var scrubAfter time.Time
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-flush.C:
			err = in.flush(ctx)
			if now := in.Clock.Now(); now.After(scrubAfter) {
				scrubbed := in.Scrub(ctx, log)
				if scrubbed != nil {
					scrubAfter = now.Add(pruneEvery) // the disk may be full, and every attempt writes a copy of the database
				}
				err = errors.Join(err, scrubbed)
			}
			memory.check()
		case <-started:
			memory.check()
		case <-prune.C:
			err = in.startRetention(ctx)
		}
		if err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "housekeeping failed; retrying later", slog.Any("error", err))
		}
	}
}
