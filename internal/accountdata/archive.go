package accountdata

import (
	"archive/zip"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/bin"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/favourite"
	"carrel/internal/markdown"
	"carrel/internal/memory"
	"carrel/internal/savedsearch"
	"carrel/internal/sharelink"
	"carrel/internal/signin/passkey"
	"carrel/internal/source"
	"carrel/internal/thread"
	"carrel/internal/transcript"
	"carrel/internal/webhook"
)

// Contents are the sources of an archive: the services that list a user's data, and a store for data without a service.
type Contents struct {
	Accounts    *account.Service
	Billing     *billing.Service
	Agents      *agent.Service
	Sources     *source.Service
	Memories    *memory.Service
	Saved       *savedsearch.Service
	Bin         *bin.Service
	Favourites  *favourite.Service
	Threads     *thread.Service
	Transcripts *transcript.Reader
	Links       *sharelink.Service
	Credentials *credential.Service
	Sessions    *credential.Sessions
	Webhooks    *webhook.Service
	Audit       *audit.Log
	Store       ContentStore
	// Originals opens the original files of documents; nil leaves them out.
	Originals Originals
}

// Originals opens stored files; see package blob. A missing file is not_found.
type Originals interface {
	Open(ctx context.Context, key string, size int64) (io.ReadSeekCloser, error)
}

// ContentStore reads data that no service lists completely.
type ContentStore interface {
	ScanDocuments(ctx context.Context, sourceID string) iter.Seq2[source.Document, error]
	Passkeys(ctx context.Context, userID string) ([]passkey.Passkey, error)
	// AgentsWithOwn returns the ids of all agents with which a user has threads, memories, favourites, saved searches or
	// deleted items.
	AgentsWithOwn(ctx context.Context, userID string) ([]string, error)
	// FirstUsage returns the first day of a user's usage, or "".
	FirstUsage(ctx context.Context, userID string) (string, error)
}

// Archives writes accounts into zip files. It reads lists page by page, so that memory use does not depend on the size
// of the account; only one thread, and an agent's bibliography, are held at a time.
type Archives struct {
	Contents
	clock core.Clock
}

// NewArchives returns an Archives that reads these contents.
func NewArchives(c Contents, clock core.Clock) *Archives { return &Archives{Contents: c, clock: clock} }

//go:embed readme.md
var readme string

// archive is a zip file being written.
type archive struct {
	*Archives
	zip *zip.Writer
	// actor acts for the user like an operator at the command line.
	actor core.Actor
	now   time.Time
	// wrote is called for every document, thread, memory, favourite and deleted item.
	wrote func()
}

// Write writes the account of a user. wrote is called for every document, thread, memory, favourite and deleted item.
func (s *Archives) Write(ctx context.Context, userID string, parts Parts, w io.Writer, wrote func()) error {
	a := &archive{Archives: s, zip: zip.NewWriter(w), actor: core.Operator(userID), now: s.clock.Now(), wrote: wrote}
	var agents []agent.Agent
	if parts.Agents {
		var err error
		if agents, err = a.allAgents(ctx); err != nil {
			return fmt.Errorf("list the agents: %w", err)
		}
	}
	if err := a.writeReadme(parts, agents); err != nil {
		return err
	}
	if err := a.account(ctx); err != nil {
		return err
	}
	if parts.Agents {
		if err := a.collections(ctx); err != nil {
			return fmt.Errorf("write the collections: %w", err)
		}
	}
	for _, g := range agents {
		// If the agent was deleted in the meantime, the files already written stay.
		if err := a.agent(ctx, g); err != nil && !core.IsKind(err, core.KindNotFound) {
			return fmt.Errorf("write the agent %s: %w", g.ID, err)
		}
	}
	return a.zip.Close()
}

// allAgents returns the user's agents and the agents shared with them, including formerly shared ones, because the
// user's data in them still belongs to the user.
func (a *archive) allAgents(ctx context.Context) ([]agent.Agent, error) {
	agents, err := collect(func(p core.Page) ([]agent.Agent, string, error) { return a.Agents.List(ctx, a.actor, p) })
	if err != nil {
		return nil, err
	}
	ids, err := a.Store.AgentsWithOwn(ctx, a.actor.UserID)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(agents, func(g agent.Agent) bool { return g.ID == id }) {
			agents = append(agents, agent.Agent{ID: id, Name: "an agent that is no longer shared with you"})
		}
	}
	return agents, nil
}

// writeReadme describes the files and maps folders to agents.
func (a *archive) writeReadme(parts Parts, agents []agent.Agent) error {
	var b bytes.Buffer
	b.WriteString(readme)
	if !parts.Agents {
		b.WriteString("This archive does not include them, because the key that requested it has access " +
			"to the account only.\n")
	}
	for _, g := range agents {
		note := ""
		if g.Grant != core.GrantOwner && g.UserID != "" {
			note = " (shared with you: your threads, memories and favourites)"
		}
		fmt.Fprintf(&b, "- `agents/%s/`: %s%s\n", g.ID, markdown.Text(core.OneLine(g.Name)), note)
	}
	fmt.Fprintf(&b, "\nWritten at %s.\n", stamp(a.now))
	return a.text("README.md", func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	})
}

// text adds a file written by write.
func (a *archive) text(name string, write func(io.Writer) error) error {
	w, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: a.now})
	if err != nil {
		return err
	}
	return write(w)
}

// json adds a file with one JSON value.
func (a *archive) json(name string, value any) error {
	return a.text(name, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(value)
	})
}

// lines adds a file with one JSON value per line, so that large files can be written and read incrementally.
func lines[T any](a *archive, name string, values iter.Seq2[T, error], show func(T) any) error {
	return a.text(name, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for v, err := range values {
			if err != nil {
				return err
			}
			if err := enc.Encode(show(v)); err != nil {
				return err
			}
		}
		return nil
	})
}

// pages iterates over a paged list.
func pages[T any](list func(core.Page) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			page, next, err := list(core.Page{Limit: core.MaxLimit, Cursor: cursor})
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, v := range page {
				if !yield(v, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

// collect returns a whole list, for short ones.
func collect[T any](list func(core.Page) ([]T, string, error)) ([]T, error) {
	var all []T
	for v, err := range pages(list) {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// object is a JSON object without empty strings and missing times.
type object map[string]any

// with sets a field unless the value is empty.
func (o object) with(name string, value any) object {
	switch v := value.(type) {
	case string:
		if v == "" {
			return o
		}
	case *time.Time:
		if v == nil {
			return o
		}
		value = stamp(*v)
	case time.Time:
		value = stamp(v)
	}
	o[name] = value
	return o
}

// stamp formats a time like the API.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
