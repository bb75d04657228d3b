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
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/favourite"
	"carrel/internal/markdown"
	"carrel/internal/memory"
	"carrel/internal/signin/passkey"
	"carrel/internal/source"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

// Contents is where an archive gets from what is in it: the services that show people what is theirs, and what these
// have no list of.
type Contents struct {
	Accounts    *account.Service
	Billing     *billing.Service
	Agents      *agent.Service
	Sources     *source.Service
	Memories    *memory.Service
	Favourites  *favourite.Service
	Threads     *thread.Service
	Credentials *credential.Service
	Sessions    *credential.Sessions
	Webhooks    *webhook.Service
	Audit       *audit.Log
	Store       ContentStore
}

// ContentStore is read where no service lists something whole.
type ContentStore interface {
	ScanDocuments(ctx context.Context, sourceID string) iter.Seq2[source.Document, error]
	Passkeys(ctx context.Context, userID string) ([]passkey.Passkey, error)
	// AgentsWithOwn returns the ids of all agents with which a user has threads, memories or favourites.
	AgentsWithOwn(ctx context.Context, userID string) ([]string, error)
	// FirstUsage returns the first day on which a user has used something; empty for none.
	FirstUsage(ctx context.Context, userID string) (string, error)
}

// Archives writes accounts into zip files. It goes through lists page by page, so that an account of any size takes little
// memory; what is held is one thread, and of an agent the references of its favourites and cited documents.
type Archives struct {
	Contents
	clock core.Clock
}

// NewArchives returns archives of these contents.
func NewArchives(c Contents, clock core.Clock) *Archives { return &Archives{Contents: c, clock: clock} }

//go:embed readme.md
var readme string

// archive is one zip file on its way.
type archive struct {
	*Archives
	zip *zip.Writer
	// actor is the user, as those at the machine act for users.
	actor core.Actor
	now   time.Time
	// wrote is called for every document, thread, memory and favourite.
	wrote func()
}

// Write writes the account of a user. wrote is called for every document, thread, memory and favourite.
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
	for _, g := range agents {
		// An agent that was deleted since it was listed is left as far as it was written.
		if err := a.agent(ctx, g); err != nil && !core.IsKind(err, core.KindNotFound) {
			return fmt.Errorf("write the agent %s: %w", g.ID, err)
		}
	}
	return a.zip.Close()
}

// allAgents returns the agents of the user and those that are shared with them. Agents that were shared once are added:
// what the user has made with them is still theirs.
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

// writeReadme says what is what, and which folder is which agent's.
func (a *archive) writeReadme(parts Parts, agents []agent.Agent) error {
	var b bytes.Buffer
	b.WriteString(readme)
	if !parts.Agents {
		b.WriteString("They are not part of this archive: the key that it was made with is for the account alone.\n")
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

// text adds a file that write fills.
func (a *archive) text(name string, write func(io.Writer) error) error {
	w, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: a.now})
	if err != nil {
		return err
	}
	return write(w)
}

// json adds a file with one value.
func (a *archive) json(name string, value any) error {
	return a.text(name, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(value)
	})
}

// lines adds a file of JSON values, one a line, so that files of any length can be written and read piece by piece.
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

// pages goes through a list page by page.
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

// collect returns a whole list; for short ones.
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

// object is a JSON object; empty texts and missing times are left out.
type object map[string]any

// with adds what is there.
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

// stamp renders a time as the API does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
