package accountdata_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/accountdata"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

// documents returns incompressible documents.
func documents(n, size int) iter.Seq2[source.Document, error] {
	random := rand.New(rand.NewPCG(1, 2))
	return func(yield func(source.Document, error) bool) {
		for i := range n {
			var text strings.Builder
			for text.Len() < size {
				fmt.Fprintf(&text, "%x ", random.Uint64())
			}
			d := source.Document{
				ExternalID: fmt.Sprint("d", i), Title: fmt.Sprint("Document ", i),
				Authors: []string{"Ada Lovelace"}, Year: 1843, Text: text.String(),
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// exported creates an export and waits for its end.
func (w *installation) exported(n node, actor core.Actor) accountdata.Export {
	w.t.Helper()
	e, err := n.exports.Create(w.t.Context(), actor)
	w.must(err)
	_, err = n.tasks.Wait(w.t.Context(), e.ID)
	w.must(err)
	e, err = n.exports.Get(w.t.Context(), actor)
	w.must(err)
	return e
}

func TestExportContainsAllUserDataAndNoSecrets(t *testing.T) {
	onBoth(t, func(t *testing.T, w *installation) {
		ctx, ada := t.Context(), core.Operator(w.ada.ID)
		id := w.agent(w.ada, documents(3, 100))
		src, err := w.contents.Sources.Default(ctx, ada, id)
		w.must(err)
		var doc source.Document
		for d, err := range w.db.ScanDocuments(ctx, src.ID) {
			w.must(err)
			doc = d
			break
		}
		w.answers.answer = func(context.Context, thread.Question) (thread.Answer, error) {
			return thread.Answer{Text: "So it is [1].", Citations: []thread.Citation{
				{N: 1, CardID: "card", DocumentID: doc.ID, SourceID: src.ID, Title: doc.Title, Quote: "quote"},
				{
					N: 2, CardID: "gone", DocumentID: "doc_gone", SourceID: src.ID, Title: "A work that is gone",
					Year: 1999,
				},
			}}, nil
		}
		talk, err := w.contents.Threads.Create(ctx, ada, id, "A <talk>")
		w.must(err)
		_, err = w.contents.Threads.Send(ctx, ada, id, talk.ID, thread.NewMessage{Text: "Is it so?"}, ctx)
		w.must(err)
		link, _, err := w.contents.Links.Create(ctx, ada, id, talk.ID, nil)
		w.must(err)
		_, err = w.contents.Memories.Add(ctx, ada, id, "I like engines.")
		w.must(err)
		forgotten, err := w.contents.Memories.Add(ctx, ada, id, "I forget engines.")
		w.must(err)
		w.must(w.contents.Memories.Delete(ctx, ada, id, forgotten.ID))
		_, err = w.contents.Saved.Save(ctx, ada, id, "Engines", json.RawMessage(`{"query": "engine"}`))
		w.must(err)
		_, err = w.contents.Favourites.Save(ctx, ada, id,
			json.RawMessage(`{"id": "notes", "title": "Notes", "authors": ["A. A. L."], "year": 1843}`), talk.ID)
		w.must(err)
		shelf, err := w.contents.Favourites.CreateCollection(ctx, ada, "A shelf")
		w.must(err)
		note := "Read it again."
		_, err = w.contents.Favourites.Change(ctx, ada, id, "notes", favourite.Change{
			Tags: &[]string{"engines"}, Note: &note, Collections: &[]string{shelf.ID},
		})
		w.must(err)
		hook, secret, err := w.contents.Webhooks.Create(ctx, ada, "https://hooks.example/x",
			[]webhook.Event{webhook.EventTurnCompleted})
		w.must(err)
		w.agent(w.bob, documents(1, 10))
		w.keepOriginal(src.ID, doc)

		e := w.exported(w.node, w.session(w.ada))
		if e.Status != accountdata.StatusComplete || e.Done != 7 || e.Total != 7 || e.ExpiresAt == nil ||
			!e.ExpiresAt.Equal(w.clock.Now().Add(7*24*time.Hour)) {
			t.Errorf("got %+v", e)
		}
		files := w.download(w.node, w.key(w.ada, core.ScopeAccount, core.ScopeAgents))
		dir := "agents/" + id + "/"
		for name, want := range map[string]string{
			"README.md": "Agent of ada", "account.json": `"email": "ada@example.org"`,
			"webhooks.json": hook.ID, "links.jsonl": link.ID, "audit.jsonl": "account_exported",
			"keys.jsonl": "", "connections.jsonl": "", "sessions.json": "[]", "passkeys.json": "[]",
			dir + "agent.json": "Agent of ada", dir + "sources.json": src.ID, dir + "memories.jsonl": "I like engines.",
			dir + "documents/" + src.ID + ".jsonl": doc.Text, dir + "favourites.jsonl": "Notes",
			"collections.json": `"name": "A shelf"`, dir + "saved-searches.json": `"query": "engine"`,
			dir + "bin.jsonl":      `"text":"I forget engines."`,
			dir + "favourites.bib": "{Notes}", dir + "favourites.csl.json": "Notes",
			dir + "threads/" + talk.ID + ".md": "So it is", dir + "threads/" + talk.ID + ".json": `"title": "A <talk>"`,
			dir + "originals/" + src.ID + "/" + doc.ID + "-a.pdf": "The file " + originalHash,
			dir + "cited.bib": "A work that is gone", dir + "cited.csl.json": doc.Title,
		} {
			got, there := files[name]
			if !there || !strings.Contains(got, want) {
				t.Errorf("%s does not hold %q: %s", name, want, got)
			}
			delete(files, name)
		}
		if len(files) > 0 {
			t.Errorf("unexpected files: %v", slices.Collect(maps.Keys(files)))
		}
		for name, content := range w.download(w.node, w.session(w.ada)) {
			if strings.Contains(content, secret) || strings.Contains(content, "bob") {
				t.Errorf("%s contains a secret or data of another user", name)
			}
		}
	})
}

func TestExportContainsWhatItsCredentialMayRead(t *testing.T) {
	onBoth(t, func(t *testing.T, w *installation) {
		ctx, ada := t.Context(), core.Operator(w.ada.ID)
		id := w.agent(w.ada, documents(3, 100))
		_, err := w.contents.Threads.Create(ctx, ada, id, "A talk")
		w.must(err)
		_, err = w.contents.Memories.Add(ctx, ada, id, "I like engines.")
		w.must(err)
		_, err = w.contents.Favourites.Save(ctx, ada, id, json.RawMessage(`{"title": "Notes"}`), "")
		w.must(err)
		limited := w.key(w.ada, core.ScopeAccount, core.ScopeAgents)
		limited.Agents = []string{id}
		account := w.key(w.ada, core.ScopeAccount)

		if _, err := w.exports.Create(ctx, limited); core.AsError(err).Code != "limited_to_agents" {
			t.Errorf("key limited to one agent: %v", err)
		}
		// An export without the agents.
		if e := w.exported(w.node, account); e.Status != accountdata.StatusComplete || e.Parts.Agents || e.Done != 0 ||
			e.Total != 0 {
			t.Errorf("account scope only: %+v", e)
		}
		files := w.download(w.node, account)
		if len(files) < 8 || files["account.json"] == "" ||
			!strings.Contains(files["README.md"], "does not include them") {
			t.Errorf("account files are missing: %v", slices.Collect(maps.Keys(files)))
		}
		for name, content := range files {
			for _, part := range []string{"Agent of ada", "A talk", "engines", "Notes"} {
				if strings.HasPrefix(name, "agents/") || strings.Contains(content, part) {
					t.Errorf("%s contains data of an agent", name)
				}
			}
		}
		w.download(w.node, w.session(w.ada)) // broader credentials may download it too

		// A full export, which narrower credentials cannot download.
		full := w.exported(w.node, w.key(w.ada, core.ScopeAccount, core.ScopeAgents))
		if !full.Parts.Agents || full.Done != 6 {
			t.Errorf("agents and account scopes: %+v", full)
		}
		for name, c := range map[string]struct {
			actor core.Actor
			code  string
		}{"the account alone": {account, "insufficient_scope"}, "one agent": {limited, "limited_to_agents"}} {
			if _, _, err := w.exports.Open(ctx, c.actor); core.AsError(err).Code != c.code {
				t.Errorf("key with scope %s can download it: %v", name, err)
			}
		}
		if _, err := w.exports.Get(ctx, limited); core.AsError(err).Code != "limited_to_agents" {
			t.Errorf("key limited to one agent can see it: %v", err)
		}
		w.download(w.node, w.session(w.ada))
	})
}

func TestFullExportIsRefusedDuringANarrowOne(t *testing.T) {
	onBoth(t, func(t *testing.T, w *installation) {
		held, goOn := make(chan struct{}), make(chan struct{})
		n := w.start(accountdata.ExportOptions{Keep: time.Hour, Free: func() (uint64, error) {
			close(held)
			<-goOn
			return 1 << 40, nil
		}})
		if w.postgres {
			w.must(w.tasks.Stop(t.Context())) // so that the other node claims the task
		}
		e, err := n.exports.Create(t.Context(), w.key(w.ada, core.ScopeAccount))
		w.must(err)
		<-held
		if _, err := n.exports.Create(t.Context(), w.session(w.ada)); !core.IsKind(err, core.KindConflict) {
			t.Errorf("session got a partial export: %v", err)
		}
		close(goOn)
		_, err = n.tasks.Wait(t.Context(), e.ID)
		w.must(err)
	})
}

func TestExportContainsOwnDataOfSharedAgents(t *testing.T) {
	onBoth(t, func(t *testing.T, w *installation) {
		ctx, ada, bob := t.Context(), core.Operator(w.ada.ID), core.Operator(w.bob.ID)
		id := w.agent(w.ada, documents(1, 10))
		w.must(w.contents.Agents.Share(ctx, ada, id, w.bob.ID, "user"))
		_, err := w.contents.Agents.Accept(ctx, w.session(w.bob), id)
		w.must(err)
		talk, err := w.contents.Threads.Create(ctx, bob, id, "Of Bob")
		w.must(err)
		look := func(name string) {
			t.Helper()
			if e := w.exported(w.node, w.session(w.bob)); e.Status != accountdata.StatusComplete || e.Done != 1 {
				t.Errorf("got %+v", e)
			}
			files := w.download(w.node, w.session(w.bob))
			if !strings.Contains(files["agents/"+id+"/threads/"+talk.ID+".md"], "Of Bob") ||
				!strings.Contains(files["README.md"], name) {
				t.Errorf("file is missing: %v", files)
			}
			for file := range files {
				if strings.Contains(file, "/documents/") || strings.Contains(file, "sources") {
					t.Errorf("%s belongs to another user", file)
				}
			}
		}
		look("Agent of ada (shared with you")
		w.must(w.contents.Agents.Unshare(ctx, ada, id, w.bob.ID))
		look("no longer shared")
	})
}

func TestInterruptedExportRestartsWithoutOldParts(t *testing.T) {
	onBoth(t, func(t *testing.T, w *installation) {
		w.agent(w.ada, documents(40, 200_000)) // several parts
		held, goOn := make(chan struct{}), make(chan struct{})
		calls := 0
		first := w.startPolling(accountdata.ExportOptions{Keep: time.Hour, Free: func() (uint64, error) {
			if calls++; calls == 3 {
				close(held)
				<-goOn // hangs like a suspended process
			}
			return 1 << 40, nil
		}}, time.Hour)
		if w.postgres {
			w.must(w.tasks.Stop(t.Context())) // so that the first node claims the task
		}
		e, err := first.exports.Create(t.Context(), w.session(w.ada))
		w.must(err)
		again, err := first.exports.Create(t.Context(), w.session(w.ada))
		w.must(err)
		if again.ID != e.ID {
			t.Error("a second export was begun beside the first")
		}
		<-held
		if got, err := first.exports.Get(t.Context(), w.session(w.ada)); err != nil ||
			got.Status != accountdata.StatusWorking || got.Bytes == 0 || got.Total != 40 {
			t.Errorf("in progress: %+v, %v", got, err)
		}
		if _, _, err := first.exports.Open(t.Context(), w.session(w.ada)); !core.IsKind(err, core.KindConflict) {
			t.Errorf("incomplete export can be downloaded: %v", err)
		}
		if w.postgres {
			_, err := w.db.RenewNode(t.Context(), first.tasks.Owner(), -time.Second) // expire its lease
			w.must(err)
		}
		second := w.start(accountdata.ExportOptions{Keep: time.Hour})
		ended, err := second.tasks.Wait(t.Context(), e.ID)
		w.must(err)
		if ended.State != task.StateComplete || ended.Attempt < 2 {
			t.Errorf("ended %s (%s) in attempt %d", ended.State, ended.ErrorCode, ended.Attempt)
		}
		close(goOn)
		files := w.download(second, w.session(w.ada))
		n := 0
		for name, content := range files {
			if strings.Contains(name, "/documents/") {
				n += strings.Count(content, "\n")
			}
		}
		if n != 40 {
			t.Errorf("%d documents", n)
		}
	})
}

func TestAnExportFailsBeforeTheDiskIsFull(t *testing.T) {
	onBoth(t, func(t *testing.T, w *installation) {
		n := w.start(accountdata.ExportOptions{Keep: time.Hour, Free: func() (uint64, error) { return 1 << 20, nil }})
		if w.postgres {
			w.must(w.tasks.Stop(t.Context()))
		}
		if e := w.exported(n, w.session(w.ada)); e.Status != accountdata.StatusFailed || e.ErrorCode != "no_space" ||
			e.Bytes != 0 {
			t.Errorf("got %+v", e)
		}
		if _, _, err := n.exports.Open(t.Context(), w.session(w.ada)); !core.IsKind(err, core.KindConflict) {
			t.Errorf("failed export can be downloaded: %v", err)
		}
	})
}

func TestExportIsPrivateAndExpires(t *testing.T) {
	onBoth(t, func(t *testing.T, w *installation) {
		ctx := t.Context()
		first := w.exported(w.node, w.session(w.ada))
		for name, actor := range map[string]core.Actor{
			"somebody else": w.session(w.bob), "a key for agents": w.key(w.ada, core.ScopeAgents, core.ScopeManage),
		} {
			_, getErr := w.exports.Get(ctx, actor)
			_, _, openErr := w.exports.Open(ctx, actor)
			for _, err := range []error{getErr, openErr, w.exports.Delete(ctx, actor)} {
				if !core.IsKind(err, core.KindNotFound) && !core.IsKind(err, core.KindForbidden) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		second := w.exported(w.node, w.session(w.ada))
		if first.ID == second.ID {
			t.Error("the old one was not replaced")
		}
		w.must(w.exports.Delete(ctx, w.session(w.ada)))
		w.exported(w.node, w.session(w.ada))
		w.clock.Advance(7*24*time.Hour - time.Millisecond)
		w.must(w.exports.Prune(ctx))
		_, r, err := w.exports.Open(ctx, w.session(w.ada))
		w.must(err)
		if _, err := io.ReadAll(r); err != nil {
			t.Error(err)
		}
		w.clock.Advance(time.Millisecond)
		if _, err := w.exports.Get(ctx, w.session(w.ada)); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("after its time: %v", err)
		}
		w.must(w.exports.Prune(ctx))
		if _, err := w.db.Export(ctx, w.ada.ID); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("after housekeeping: %v", err)
		}
	})
}

func TestExportIsReadableFromAnyOffset(t *testing.T) {
	onBoth(t, func(t *testing.T, w *installation) {
		w.agent(w.ada, documents(20, 200_000))
		w.exported(w.node, w.session(w.ada))
		e, r, err := w.exports.Open(t.Context(), w.session(w.ada))
		w.must(err)
		all, err := io.ReadAll(r)
		w.must(err)
		if e.Bytes < 1<<20 {
			t.Fatalf("%d bytes fit into one part", e.Bytes)
		}
		for _, from := range []int64{0, 1, 1<<20 - 1, 1 << 20, e.Bytes - 1, e.Bytes} {
			_, err := r.Seek(from, io.SeekStart)
			w.must(err)
			got, err := io.ReadAll(r)
			w.must(err)
			if string(got) != string(all[from:]) {
				t.Errorf("wrong bytes from offset %d", from)
			}
		}
	})
}
