package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/schollz/progressbar/v3"

	"carrel/internal/app"
	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/search"
	"carrel/internal/search/local"
	"carrel/internal/source"
)

type sourceCommands struct {
	Add    sourceAdd    `cmd:"" help:"Add a source to an agent: a file or folder, imported now, or a kind that a server synchronises or searches live."`
	Status sourceStatus `cmd:"" help:"Show the documents and imports of an agent's sources."`
}

type sourceAdd struct {
	Agent       string `required:"" placeholder:"ID" help:"The agent's id."`
	Name        string `required:"" help:"The name of the source. If the agent has a source of this name, the documents are added to it."`
	Default     bool   `help:"Make it the default source, which is searched if a request names none."`
	Language    string `placeholder:"CODE" help:"Language of the documents (ISO 639-1: en, de, zh …), or the edition for wikipedia. Default: detected; English for wikipedia."`
	Strict      bool   `help:"Import nothing if a record is invalid, instead of all others."`
	SkipInvalid bool   `hidden:"" help:"The default; accepted for scripts of earlier versions."`
	JSON        bool   `help:"Print one JSON object: {\"source\":{\"id\":…}}."`
	kindFlags
	Of string `arg:"" name:"file-folder-or-kind" help:"A file (${file_extensions}), a folder of such files, a kind that the server syncs (${synced_kinds}), or a kind that it searches at query time (${live_kinds})."`
}

// Run adds a source.
func (c sourceAdd) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	if c.isKind() {
		return c.addKind(ctx, env, parent)
	}
	cfg, err := parent.settings(env)
	if err != nil {
		return err
	}
	library, err := format.OpenWithin(ctx, c.Of, app.ImportLimits(cfg))
	if err != nil {
		return err
	}
	skipped, err := c.check(ctx, env, library)
	if err != nil {
		return err
	}
	return parent.run(ctx, env, false, func(a admin) error {
		owner, err := a.Store.AgentOwner(ctx, c.Agent)
		if core.IsKind(err, core.KindNotFound) {
			return errors.New("there is no such agent; see: carrel admin agent list --user EMAIL")
		}
		if err != nil {
			return err
		}
		actor := core.Operator(owner)
		src, err := a.Sources.AddOrFind(ctx, actor, c.Agent,
			source.New{Name: c.Name, Language: c.Language, Default: c.Default})
		if err != nil {
			return err
		}
		bar := progressBar(env, library.Bytes(), "Importing")
		docs := a.Imports.WithOriginals(ctx, c.Of, documents(library.Documents(ctx, bar.set)))
		done, err := a.Sources.Import(ctx, actor, src, docs, nil)
		bar.finish()
		if err != nil {
			return err
		}
		if a.Embedding != nil {
			if err := a.Embedding.Check(ctx); err != nil {
				return err
			}
		}
		indexed, err := a.index(ctx)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{
			"indexed": indexed,
			"source":  map[string]any{"id": src.ID, "name": src.Name, "agentId": src.AgentID, "default": src.Default},
			"documents": map[string]any{
				"added":     done.Added,
				"updated":   done.Updated,
				"unchanged": done.Unchanged,
				"skipped":   skipped,
			},
		}, "Source %s (%s): %d documents added, %d updated, %d unchanged, %d skipped.%s",
			src.Name, src.ID, done.Added, done.Updated, done.Unchanged, skipped, map[bool]string{
				false: " No server is running; the documents can be found after the next start.",
			}[indexed])
	})
}

// index waits until stored documents can be found. It returns false if no server runs that could index them, or if the
// OpenSearch cluster is away.
func (a admin) index(ctx context.Context) (bool, error) {
	bar := progressBar(a.env, 0, "Indexing")
	err := a.indexAll(ctx, bar.of)
	bar.finish()
	if errors.Is(err, local.ErrNotIndexed) || errors.Is(err, search.ErrUnavailable) {
		return false, nil
	}
	return err == nil, err
}

// maxErrors is the number of invalid records that are printed.
const maxErrors = 10

// check reads the whole library before anything is written, and prints the first invalid records. It fails if no record
// is valid, or with --strict if one is invalid.
func (c sourceAdd) check(ctx context.Context, env *Env, library *format.Library) (bad int, err error) {
	bar := progressBar(env, library.Bytes(), "Checking")
	defer bar.finish()
	good := 0
	for d, err := range library.Documents(ctx, bar.set) {
		if d.Note != "" {
			bar.finish()
			_, _ = fmt.Fprintf(env.Err, "carrel: %s\n", d.Note)
		}
		var record *format.RecordError
		if errors.As(err, &record) {
			if bad++; bad <= maxErrors {
				bar.finish()
				_, _ = fmt.Fprintf(env.Err, "carrel: %s: %s\n", record.Place, record.Reason)
			}
			continue
		}
		if err != nil {
			return bad, err
		}
		good++
	}
	if bad > maxErrors {
		_, _ = fmt.Fprintf(env.Err, "carrel: and %d more invalid records\n", bad-maxErrors)
	}
	if bad > 0 && (c.Strict || good == 0) {
		return bad, fmt.Errorf("%d records are invalid, so nothing was imported", bad)
	}
	return bad, nil
}

// documents converts the records and skips invalid ones, which check has printed.
func documents(read iter.Seq2[source.Document, error]) iter.Seq2[source.Document, error] {
	return func(yield func(source.Document, error) bool) {
		for d, err := range read {
			var record *format.RecordError
			if errors.As(err, &record) {
				continue
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// bar is a progress bar, drawn only on a terminal.
type bar struct{ *progressbar.ProgressBar }

func progressBar(env *Env, total int64, what string) bar {
	w := env.Err
	if !isTerminal(w) {
		w = io.Discard
	}
	return bar{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
		progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100e6))}
}

func (b bar) of(done, all uint64) {
	b.ChangeMax64(int64(all))
	b.set(int64(done))
}

func (b bar) set(n int64) { _ = b.Set64(n) } // drawing errors are ignored

func (b bar) finish() { _ = b.Finish() }
