package favourite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/thread"
)

// world is the service on a database with a user who has two agents, and another user who has one.
type world struct {
	*favourite.Service
	threads               *thread.Service
	documents             *keeper
	clock                 *testkit.Clock
	ada, bob              core.Actor
	agent, second, theirs string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	clock := testkit.NewClock()
	agents := agent.NewService(agent.Deps{Store: db, Clock: clock})
	w := &world{threads: thread.NewService(db, agents, clock, nil, nil), clock: clock, documents: &keeper{}}
	w.Service = favourite.NewService(favourite.Deps{
		Store: db, Agents: agents, Threads: w.threads, Documents: w.documents, Clock: clock,
	})
	user := func() core.Actor {
		id := core.NewID(core.PrefixUser)
		u := account.User{ID: id, Email: id + "@example.org", Name: "U", Role: core.RoleMember, Plan: core.PlanNone, CreatedAt: clock.Now()}
		if err := db.InsertUser(t.Context(), u, "none"); err != nil {
			t.Fatal(err)
		}
		return core.Actor{UserID: id, Plan: core.PlanNone, Credential: core.CredentialKey, Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage}}
	}
	newAgent := func(who core.Actor) string {
		name := "A"
		a, err := agents.Create(t.Context(), who, agent.Change{Name: &name})
		if err != nil {
			t.Fatal(err)
		}
		return a.ID
	}
	w.ada, w.bob = user(), user()
	w.agent, w.second, w.theirs = newAgent(w.ada), newAgent(w.ada), newAgent(w.bob)
	return w
}

func (w *world) save(t *testing.T, card string) favourite.Favourite {
	t.Helper()
	f, err := w.Save(t.Context(), w.ada, w.agent, json.RawMessage(card), "")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// walk reads a list page by page and calls between after each page.
func (w *world) walk(t *testing.T, q string, limit int, between func()) []string {
	t.Helper()
	ids, page := []string{}, core.Page{Limit: limit}
	for {
		found, next, err := w.List(t.Context(), w.ada, w.agent, q, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			ids = append(ids, f.CardID)
		}
		if page.Cursor = next; next == "" {
			return ids
		}
		between()
	}
}

func TestACardSavedAgainIsUpdated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.save(t, `{"cardId":"c","title":"Old"}`)
	w.clock.Advance(time.Hour)
	again := w.save(t, `{"title":"New","cardId":"c"}`)
	if again.CardID != "c" || !again.CreatedAt.Equal(first.CreatedAt) || !again.UpdatedAt.Equal(w.clock.Now()) {
		t.Errorf("saved %+v, then %+v", first, again)
	}
	found, _, err := w.List(t.Context(), w.ada, w.agent, "", core.Page{})
	if err != nil || len(found) != 1 || string(found[0].Card) != `{"title":"New","cardId":"c"}` {
		t.Errorf("there are %+v, %v", found, err)
	}
}

func TestFavouritesOfOneMomentArePagedWithoutLoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// The clock stands still, so that only the id decides.
	for i := range 7 {
		w.save(t, fmt.Sprintf(`{"id":"%d","title":"Relational"}`, i))
	}
	for _, q := range []string{"", "relational"} {
		want := w.walk(t, q, 200, func() {})
		if len(want) != 7 {
			t.Fatalf("q=%q lists %v", q, want)
		}
		for _, limit := range []int{1, 2, 3, 6, 7} {
			if got := w.walk(t, q, limit, func() {}); !slices.Equal(got, want) {
				t.Errorf("q=%q by %d lists %v, want %v", q, limit, got, want)
			}
		}
	}
}

func TestASearchIsPagedBestFirstWhileCardsAreSaved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, card := range []string{
		`"title":"Relational model"`, `"title":"Other","note":"relational model"`, `"title":"The relational model"`,
		`"title":"None"`, `"title":"Other","note":"a relational model"`,
	} {
		w.clock.Advance(time.Millisecond)
		w.save(t, fmt.Sprintf(`{"id":"%d",%s}`, i, card))
	}
	want := w.walk(t, "relational model", 200, func() {})
	if len(want) != 4 || slices.Contains(want, "3") || want[0] != "0" && want[0] != "2" {
		t.Fatalf("found %v", want)
	}
	n := 100
	got := w.walk(t, "relational model", 1, func() {
		w.clock.Advance(time.Millisecond)
		n++
		// Better than all that were seen: it belongs before the cursor and must not push anything over it.
		w.save(t, fmt.Sprintf(`{"id":"%d","title":"Relational model","note":"relational model"}`, n))
	})
	if !slices.Equal(got, want) {
		t.Errorf("by one while others save: %v, want %v", got, want)
	}
}

func TestAThreadOfAFavouriteIsOfTheSameAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, err := w.threads.Create(t.Context(), w.ada, w.agent, "")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := w.threads.Create(t.Context(), w.ada, w.second, "")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := w.threads.Create(t.Context(), w.bob, w.theirs, "")
	if err != nil {
		t.Fatal(err)
	}
	card := json.RawMessage(`{"id":"c"}`)
	if f, err := w.Save(t.Context(), w.ada, w.agent, card, own.ID); err != nil || f.ThreadID != own.ID {
		t.Errorf("saved %+v, %v", f, err)
	}
	for name, id := range map[string]string{
		"another agent's": elsewhere.ID, "somebody else's": theirs.ID, "unknown": "thr_" + strings.Repeat("0", 26), "junk": "junk", "a NUL": own.ID + "\x00",
	} {
		_, err := w.Save(t.Context(), w.ada, w.agent, card, id)
		if e := core.AsError(err); e.Kind != core.KindInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != "/threadId" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadCardsQueriesAndCursorsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, card := range []string{`[]`, `"x"`, `{`, `{"a":1,"a":2}`, `{"a":"\ud800"}`, `{"a":"` + strings.Repeat("x", favourite.MaxCard) + `"}`} {
		if _, err := w.Save(t.Context(), w.ada, w.agent, json.RawMessage(card), ""); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("the card %.20s: %v", card, err)
		}
	}
	for name, c := range map[string]struct {
		q    string
		page core.Page
	}{
		"a long query":        {strings.Repeat("a", 501), core.Page{}},
		"a NUL":               {"\x00", core.Page{}},
		"invalid UTF-8":       {"\xff", core.Page{}},
		"a large page":        {"", core.Page{Limit: 201}},
		"a bad cursor":        {"", core.Page{Cursor: "x"}},
		"a cursor of words":   {"", core.Page{Cursor: core.EncodeCursor("favourites.q", "1", "1", "x")}},
		"a cursor of none":    {"x", core.Page{Cursor: core.EncodeCursor("favourites", "1", "x")}},
		"a cursor, no time":   {"", core.Page{Cursor: core.EncodeCursor("favourites", "soon", "x")}},
		"a cursor, no score":  {"x", core.Page{Cursor: core.EncodeCursor("favourites.q", "best", "1", "x")}},
		"a cursor, no time q": {"x", core.Page{Cursor: core.EncodeCursor("favourites.q", "1", "soon", "x")}},
	} {
		if _, _, err := w.List(t.Context(), w.ada, w.agent, c.q, c.page); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found, _, err := w.List(t.Context(), w.ada, w.agent, strings.Repeat("😀", 500), core.Page{}); err != nil || len(found) != 0 {
		t.Errorf("a query of the full length: %v, %v", found, err)
	}
}

func TestFavouritesAreTheirUsersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.save(t, `{"id":"mine"}`)
	ctx := t.Context()
	_, errSave := w.Save(ctx, w.bob, w.agent, json.RawMessage(`{}`), "")
	_, _, errList := w.List(ctx, w.bob, w.agent, "", core.Page{})
	_, _, errFind := w.List(ctx, w.bob, w.agent, "mine", core.Page{})
	for name, err := range map[string]error{
		"save": errSave, "list": errList, "find": errFind, "delete": w.Delete(ctx, w.bob, w.agent, "mine"),
		"delete by another way": w.Delete(ctx, w.bob, w.theirs, "mine"), "export": w.Export(ctx, w.bob, w.agent, favourite.FormatCSV, new(bytes.Buffer)),
		"under another agent": w.Delete(ctx, w.ada, w.second, "mine"), "unknown": w.Delete(ctx, w.ada, w.agent, "none"),
		"a slash": w.Delete(ctx, w.ada, w.agent, "a/b"), "a NUL": w.Delete(ctx, w.ada, w.agent, "mine\x00"), "nothing": w.Delete(ctx, w.ada, w.agent, ""),
	} {
		if !core.IsKind(err, core.KindNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var out bytes.Buffer
	if err := w.Export(ctx, w.ada, w.agent, favourite.FormatCSV, &out); err != nil || !strings.Contains(out.String(), "mine") {
		t.Errorf("exported %q, %v", out.String(), err)
	}
	if err := w.Delete(ctx, w.ada, w.agent, "mine"); err != nil {
		t.Error(err)
	}
	if _, err := w.Save(ctx, core.Actor{UserID: w.ada.UserID}, w.agent, json.RawMessage(`{}`), ""); core.AsError(err).Code != "insufficient_scope" {
		t.Errorf("without a scope: %v", err)
	}
}

// keeper notes which documents are to stay, and may be unable to.
type keeper struct {
	kept []string
	err  error
}

func (k *keeper) KeepCard(_ context.Context, userID, agentID, cardID string) error {
	k.kept = append(k.kept, userID+" "+agentID+" "+cardID)
	return k.err
}

func TestTheDocumentOfASavedCardStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.documents
	if _, err := w.Save(t.Context(), w.ada, w.agent, []byte(`{"cardId": "card_1"}`), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Save(t.Context(), w.bob, w.agent, []byte(`{"cardId": "card_2"}`), ""); err == nil {
		t.Error("another's agent takes a card")
	}
	if want := w.ada.UserID + " " + w.agent + " card_1"; len(k.kept) != 1 || k.kept[0] != want {
		t.Errorf("kept %v, not %s", k.kept, want)
	}
	k.err = core.NotFound("document")
	if _, err := w.Save(t.Context(), w.ada, w.agent, []byte(`{"cardId": "card_3"}`), ""); err == nil {
		t.Error("a card is saved whose document could not be kept")
	}
}
