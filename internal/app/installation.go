package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"unicode/utf8"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/seal"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

// installation is an opened database with all services on it. The server and the commands work with the same.
type installation struct {
	store       *store.DB
	clock       core.Clock
	accounts    *account.Service
	credentials *credential.Service
	agents      *agent.Service
	sources     *source.Service
	memories    *memory.Service
	favourites  *favourite.Service
	threads     *thread.Service
	webhooks    *webhook.Service
	tasks       *task.Engine
	// replies seals the ones that hold a secret and are kept for a retry.
	replies *seal.Box
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
	replies, err := seal.New(secret, "replies")
	if err != nil {
		return nil, err
	}
	signing, err := seal.New(secret, "webhook secrets")
	if err != nil {
		return nil, err
	}
	clock := core.SystemClock{}
	in := &installation{store: db, clock: clock, replies: replies}
	in.accounts = account.NewService(db, clock)
	in.credentials = credential.NewService(db, clock, secret, credential.Prefixes{Key: cfg.KeyPrefix, Code: cfg.CodePrefix})
	in.agents = agent.NewService(db, clock)
	in.sources = source.NewService(db, in.agents, scanner{db}, clock, source.Options{})
	in.memories = memory.NewService(db, in.agents, clock)
	in.tasks = task.New(db, clock, log, task.Options{Version: Version(), Alone: cfg.Database == ""})
	in.threads = thread.NewService(db, in.agents, clock, in.tasks, env.answerer())
	in.tasks.Register(in.threads.Kind())
	in.webhooks = webhook.NewService(db, signing, clock, webhook.Options{Private: cfg.OutboundPrivate})
	in.tasks.Register(in.webhooks.Kind())
	in.favourites = favourite.NewService(db, in.agents, in.threads, clock)
	return in, nil
}

func (e *Env) answerer() thread.Answerer {
	if e.Answerer != nil {
		return e.Answerer
	}
	return thread.Echo{}
}

func (in *installation) close() error { return in.store.Close() }

// flush writes down what services gather in memory.
func (in *installation) flush(ctx context.Context) error {
	return errors.Join(in.credentials.FlushUses(ctx), in.sources.FlushSearches(ctx))
}

// scanner ranks by reading every document of the sources.
type scanner struct{ store *store.DB }

// Rank answers a query from all documents.
func (s scanner) Rank(ctx context.Context, q source.Query) (source.Ranking, error) {
	found, err := search.Scan(s.documents(ctx, q.Sources),
		search.Query{Text: q.Text, Limit: q.Limit, FromYear: q.FromYear, ToYear: q.ToYear, Facets: q.Counts})
	if err != nil {
		return source.Ranking{}, err
	}
	out := source.Ranking{Total: found.Total, UndatedExcluded: found.UndatedExcluded}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, source.Hit{DocumentID: h.ID, Score: h.Score})
	}
	for _, y := range found.Years {
		out.Years = append(out.Years, source.YearCount(y))
	}
	return out, nil
}

func (s scanner) documents(ctx context.Context, sources []string) iter.Seq2[search.Document, error] {
	return func(yield func(search.Document, error) bool) {
		for _, id := range sources {
			for d, err := range s.store.ScanDocuments(ctx, id) {
				if !yield(search.Document{
					ID: d.ID, SourceID: d.SourceID, Title: d.Title, Text: d.Text, DOI: d.DOI, Authors: d.Authors, Year: d.Year,
				}, err) {
					return
				}
			}
		}
	}
}

// Snippets shows where documents match. A document is one passage.
func (s scanner) Snippets(q source.Query) func(source.Document, int) source.Snippet {
	h := search.NewHighlighter(q.Text, search.SnippetWidth)
	return func(d source.Document, _ int) source.Snippet {
		text, spans := h.Snippet(d.Title, d.Text)
		out := source.Snippet{Text: text, Highlights: make([]source.Span, len(spans)), End: utf8.RuneCountInString(d.Text)}
		for i, span := range spans {
			out.Highlights[i] = source.Span(span)
		}
		return out
	}
}

// Indexed is not known: whatever is stored is found.
func (scanner) Indexed(string) (int, bool) { return 0, false }
