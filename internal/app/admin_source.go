package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/schollz/progressbar/v3"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/search/local"
	"carrel/internal/source"
)

type sourceCommands struct {
	Add    sourceAdd    `cmd:"" help:"Give an agent a source: of a file or a folder, which it returns with when they can be searched; or of a kind that a server keeps up to date or asks live."`
	Status sourceStatus `cmd:"" help:"Show what an agent's sources hold and how far their imports are."`
}

type sourceAdd struct {
	Agent       string `required:"" placeholder:"ID" help:"The agent's id."`
	Name        string `required:"" help:"The source's name. Documents go into the agent's source of that name if it has one."`
	Default     bool   `help:"Make it the source that is searched when none is named."`
	Language    string `placeholder:"CODE" help:"The language of its documents, as ISO 639-1 has it (en, de, zh …), or of the encyclopaedia for wikipedia. When omitted it is guessed, and English for wikipedia."`
	SkipInvalid bool   `help:"Leave out records that can't be read, instead of importing nothing."`
	JSON        bool   `help:"Print one JSON object: {\"source\":{\"id\":…}}."`
	kindFlags
	Of string `arg:"" name:"file-folder-or-kind" help:"A kind that a server keeps up to date (${synced_kinds}) or asks live (${live_kinds}), a text (.pdf, .docx, .epub, .md, .txt, .html, .eml), a list of records (.jsonl, .csv, .bib, .ris, CSL .json, .mbox), or a folder or .zip of such files."`
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
	library, err := format.OpenWithin(ctx, c.Of, importLimits(cfg.Imports))
	if err != nil {
		return err
	}
	skipped, err := c.check(ctx, env, library)
	if err != nil {
		return err
	}
	return parent.run(ctx, env, false, func(a admin) error {
		owner, err := a.store.AgentOwner(ctx, c.Agent)
		if core.IsKind(err, core.KindNotFound) {
			return errors.New("there is no such agent; see: carrel admin agent list --user EMAIL")
		}
		if err != nil {
			return err
		}
		actor := core.Operator(owner)
		src, err := a.sources.AddOrFind(ctx, actor, c.Agent, source.New{Name: c.Name, Language: c.Language, Default: c.Default})
		if err != nil {
			return err
		}
		bar := progressBar(env, library.Bytes(), "Importing")
		docs := documents(library.Documents(ctx, bar.set))
		done, err := a.sources.Import(ctx, actor, src, docs, nil)
		bar.finish()
		if err != nil {
			return err
		}
		if a.embedding != nil {
			if err := a.embedding.Check(ctx); err != nil {
				return err
			}
		}
		indexed, err := a.index(ctx)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{
			"indexed":   indexed,
			"source":    map[string]any{"id": src.ID, "name": src.Name, "agentId": src.AgentID, "default": src.Default},
			"documents": map[string]any{"added": done.Added, "updated": done.Updated, "unchanged": done.Unchanged, "skipped": skipped},
		}, "Source %s (%s): %d documents added, %d updated, %d unchanged, %d skipped.%s",
			src.Name, src.ID, done.Added, done.Updated, done.Unchanged, skipped, map[bool]string{
				false: " No server runs: they can be found when one has started and read them.",
			}[indexed])
	})
}

// index returns when what was stored can be found, and whether it can: it can't before some server runs.
func (a admin) index(ctx context.Context) (bool, error) {
	bar := progressBar(a.env, 0, "Indexing")
	err := a.indexAll(ctx, bar.of)
	bar.finish()
	if errors.Is(err, local.ErrNotIndexed) {
		return false, nil
	}
	return err == nil, err
}

// maxComplaints is how many bad records are shown one by one.
const maxComplaints = 10

// check reads the whole library before anything is written, so that a bad record changes nothing.
func (c sourceAdd) check(ctx context.Context, env *Env, library *format.Library) (bad int, err error) {
	bar := progressBar(env, library.Bytes(), "Checking")
	defer bar.finish()
	for _, err := range library.Documents(ctx, bar.set) {
		var record *format.RecordError
		if errors.As(err, &record) {
			if bad++; bad <= maxComplaints {
				bar.finish()
				_, _ = fmt.Fprintf(env.Err, "carrel: %s: %s\n", record.Place, record.Reason)
			}
			continue
		}
		if err != nil {
			return bad, err
		}
	}
	if bad > 0 && !c.SkipInvalid {
		return bad, fmt.Errorf("%d records can't be read, so nothing was imported; mend them, or leave them out with --skip-invalid", bad)
	}
	return bad, nil
}

// documents hands over what was read and leaves out bad records, which check has told about.
func documents(read iter.Seq2[format.Document, error]) iter.Seq2[source.Document, error] {
	return func(yield func(source.Document, error) bool) {
		for d, err := range read {
			var record *format.RecordError
			if errors.As(err, &record) {
				continue
			}
			if !yield(source.Document{
				ExternalID: d.ExternalID, Title: d.Title, Authors: d.Authors, Text: d.Text, Year: d.Year,
				URL: d.URL, DOI: d.DOI, Venue: d.Venue, Type: d.Type,
				PublishedAt: d.PublishedAt, CitationCount: d.CitationCount, OpenAccessURL: d.OpenAccessURL,
			}, err) || err != nil {
				return
			}
		}
	}
}

// bar shows how far a long command is, on a terminal only.
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

func (b bar) set(n int64) { _ = b.Set64(n) } // a bar that can't be drawn stops nothing

func (b bar) finish() { _ = b.Finish() }
