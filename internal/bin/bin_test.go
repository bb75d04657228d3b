package bin_test

import (
	"slices"
	"testing"
	"time"

	"carrel/internal/bin"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

// installation is the service on a database that keeps deleted items.
type installation struct {
	*bin.Service
	fixture.Users
	t  *testing.T
	db *store.DB
}

func newInstallation(t *testing.T, days int) *installation {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: fixture.SQLite(t), Bin: days > 0})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	users := fixture.NewUsers(t, db, core.PlanOpen)
	return &installation{
		Service: bin.NewService(bin.Deps{Store: db, Agents: users.Agents, Clock: users.Clock, Days: days}),
		Users:   users, t: t, db: db,
	}
}

func (w *installation) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// deleteMemory adds a memory of Ada and deletes it.
func (w *installation) deleteMemory(text string) {
	w.t.Helper()
	ctx, now := w.t.Context(), w.Users.Clock.Now()
	m, err := w.db.InsertMemory(ctx, w.Ada.UserID,
		memory.Memory{
			ID: core.NewID(core.PrefixMemory), AgentID: w.Agent, Text: text, Status: memory.StatusActive, Origin: "user",
			CreatedAt: now, UpdatedAt: now,
		}, text)
	w.must(err)
	w.must(w.db.DeleteMemory(ctx, w.Ada.UserID, w.Agent, m.ID, now))
}

// deleteDocument adds a document and deletes it for Ada.
func (w *installation) deleteDocument() {
	w.t.Helper()
	ctx, now := w.t.Context(), w.Users.Clock.Now()
	a, err := w.db.Agent(ctx, w.Ada.UserID, w.Agent)
	w.must(err)
	d := source.Document{
		ID: core.NewID(core.PrefixDocument), ExternalID: "1", Title: "Codd", Hash: []byte("h"), CreatedAt: now,
		UpdatedAt: now,
	}
	_, _, err = w.db.PutDocuments(ctx, a.Sources[0].ID, []source.Document{d})
	w.must(err)
	_, err = w.db.DeleteDocumentsByID(ctx, w.Ada.UserID, a.Sources[0].ID, []string{d.ID}, now)
	w.must(err)
}

func (w *installation) list(kind bin.Kind) []bin.Item {
	w.t.Helper()
	items, next, err := w.List(w.t.Context(), w.Ada, w.Agent, kind, core.Page{})
	if err != nil || next != "" {
		w.t.Fatalf("%v, next page %q", err, next)
	}
	return items
}

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	w := newInstallation(t, 30)
	for name, remove := range map[string]func(*bin.Deps){
		"store":  func(d *bin.Deps) { d.Store = nil },
		"agents": func(d *bin.Deps) { d.Agents = nil },
		"clock":  func(d *bin.Deps) { d.Clock = nil },
	} {
		d := w.Deps
		remove(&d)
		if !testkit.Panics(func() { bin.NewService(d) }) {
			t.Errorf("NewService accepts a missing %s", name)
		}
	}
}

func TestItemsExpireAfterTheirDays(t *testing.T) {
	t.Parallel()
	w := newInstallation(t, 30)
	w.deleteMemory("I read Codd.")
	item := w.list("")[0]
	if item.ExpiresAt.Sub(item.DeletedAt) != 30*24*time.Hour || item.Title != "I read Codd." {
		t.Errorf("the item is %+v", item)
	}
	w.Users.Clock.Advance(30*24*time.Hour - time.Second)
	w.must(w.Prune(t.Context()))
	if len(w.list("")) != 1 {
		t.Error("the item was deleted before it expired")
	}
	w.Users.Clock.Advance(time.Second)
	w.must(w.Prune(t.Context()))
	if left := w.list(""); len(left) != 0 {
		t.Errorf("expired and left: %+v", left)
	}
}

func TestWithoutABinItemsAreDeletedAtOnce(t *testing.T) {
	t.Parallel()
	w := newInstallation(t, 0)
	w.deleteMemory("I read Codd.")
	w.deleteDocument()
	_, err := w.db.SaveFavourite(t.Context(), w.Ada.UserID, w.Agent, favourite.Favourite{CardID: "c", Card: []byte("{}")})
	w.must(err)
	w.must(w.db.DeleteFavourite(t.Context(), w.Ada.UserID, w.Agent, "c", w.Users.Clock.Now()))
	if items := w.list(""); len(items) != 0 {
		t.Errorf("the bin has %+v", items)
	}
}

func TestTheBinIsPagedByKind(t *testing.T) {
	t.Parallel()
	w := newInstallation(t, 30)
	for _, text := range []string{"one", "two", "three"} {
		w.deleteMemory(text)
	}
	w.deleteDocument()
	var titles []string
	page := core.Page{Limit: 1}
	for {
		items, next, err := w.List(t.Context(), w.Ada, w.Agent, bin.KindMemory, page)
		w.must(err)
		titles = append(titles, items[0].Title)
		if next == "" {
			break
		}
		page.Cursor = next
	}
	if !slices.Equal(titles, []string{"three", "two", "one"}) {
		t.Errorf("listed %q", titles)
	}
	if _, _, err := w.List(t.Context(), w.Ada, w.Agent, bin.KindThread, page); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("the cursor of another kind gives %v", err)
	}
	if _, _, err := w.List(t.Context(), w.Ada, w.Agent, "", core.Page{Limit: 201}); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("a page of 201 items gives %v", err)
	}
}

func TestAnItemNeedsTheAccessThatItsDeletionNeeded(t *testing.T) {
	t.Parallel()
	w := newInstallation(t, 30)
	ctx := t.Context()
	w.deleteMemory("one")
	w.deleteMemory("two")
	w.deleteDocument()
	document, remembered := w.list(bin.KindDocument)[0], w.list(bin.KindMemory)
	reader := w.Ada
	reader.Scopes = []core.Scope{core.ScopeAgents}
	if _, err := w.Restore(ctx, reader, w.Agent, document.ID); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("without the scope manage a document is restored: %v", err)
	}
	if err := w.Delete(ctx, reader, w.Agent, document.ID); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("without the scope manage a document is deleted: %v", err)
	}
	restored, err := w.Restore(ctx, reader, w.Agent, remembered[0].ID)
	if err != nil || restored != remembered[0] {
		t.Errorf("restored %+v, %v", restored, err)
	}
	w.must(w.Empty(ctx, reader, w.Agent))
	if left := w.list(""); len(left) != 1 || left[0] != document {
		t.Errorf("after emptying the bin without the scope manage: %+v", left)
	}
	for _, id := range []string{remembered[0].ID, "bin_none", "mem_1"} {
		if err := w.Delete(ctx, w.Ada, w.Agent, id); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if content, err := w.Content(ctx, w.Ada, w.Agent, document.ID); err != nil || len(content) == 0 {
		t.Errorf("the content is %s, %v", content, err)
	}
	for name, err := range map[string]error{
		"empty":   w.Empty(ctx, w.Bob, w.Agent),
		"delete":  w.Delete(ctx, w.Bob, w.Agent, document.ID),
		"restore": second(w.Restore(ctx, w.Bob, w.Agent, document.ID)),
		"content": second(w.Content(ctx, w.Bob, w.Agent, document.ID)),
		"list":    third(w.List(ctx, w.Bob, w.Agent, "", core.Page{})),
	} {
		if !core.IsKind(err, core.KindNotFound) {
			t.Errorf("%s by a user without access to the agent: %v", name, err)
		}
	}
	w.must(w.Delete(ctx, w.Ada, w.Agent, document.ID))
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }
