package favourite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/task"
	"carrel/internal/testkit/echo"
	"carrel/internal/testkit/fixture"
	"carrel/internal/thread"
)

// testService is a favourite service with two users.
type testService struct {
	*favourite.Service
	fixture.Users
	threads   *thread.Service
	documents *keeper
}

func newService(t *testing.T) *testService {
	t.Helper()
	db := fixture.OpenStore(t)
	users := fixture.NewUsers(t, db, core.PlanNone)
	tasks := task.New(task.Deps{Store: db, Clock: users.Clock, Log: slog.New(slog.DiscardHandler)},
		task.Options{SingleNode: true})
	threads := thread.NewService(thread.Deps{
		Store: db, Agents: users.Agents, Clock: users.Clock, Tasks: tasks, Answerer: echo.Answerer{},
	})
	documents := &keeper{}
	return &testService{
		Service: favourite.NewService(favourite.Deps{
			Store: db, Agents: users.Agents, Threads: threads, Documents: documents, Clock: users.Clock,
		}),
		Users: users, threads: threads, documents: documents,
	}
}

func (w *testService) save(t *testing.T, card string) favourite.Favourite {
	t.Helper()
	f, err := w.Save(t.Context(), w.Ada, w.Agent, json.RawMessage(card), "")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// walk pages through a list and calls between after each page.
func (w *testService) walk(t *testing.T, q string, limit int, between func()) []string {
	t.Helper()
	ids, page := []string{}, core.Page{Limit: limit}
	for {
		found, next, err := w.List(t.Context(), w.Ada, w.Agent, q, page)
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

func TestSavingACardAgainUpdatesIt(t *testing.T) {
	t.Parallel()
	w := newService(t)
	first := w.save(t, `{"cardId":"c","title":"Old"}`)
	w.Clock.Advance(time.Hour)
	again := w.save(t, `{"title":"New","cardId":"c"}`)
	if again.CardID != "c" || !again.CreatedAt.Equal(first.CreatedAt) || !again.UpdatedAt.Equal(w.Clock.Now()) {
		t.Errorf("saved %+v, then %+v", first, again)
	}
	found, _, err := w.List(t.Context(), w.Ada, w.Agent, "", core.Page{})
	if err != nil || len(found) != 1 || string(found[0].Card) != `{"title":"New","cardId":"c"}` {
		t.Errorf("there are %+v, %v", found, err)
	}
}

func TestFavouritesWithTheSameTimeArePagedWithoutLoss(t *testing.T) {
	t.Parallel()
	w := newService(t)
	// The clock stands still, so that only the id decides the order.
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

func TestSearchIsPagedBestFirstDuringConcurrentSaves(t *testing.T) {
	t.Parallel()
	w := newService(t)
	for i, card := range []string{
		`"title":"Relational model"`, `"title":"Other","note":"relational model"`, `"title":"The relational model"`,
		`"title":"None"`, `"title":"Other","note":"a relational model"`,
	} {
		w.Clock.Advance(time.Millisecond)
		w.save(t, fmt.Sprintf(`{"id":"%d",%s}`, i, card))
	}
	want := w.walk(t, "relational model", 200, func() {})
	if len(want) != 4 || slices.Contains(want, "3") || want[0] != "0" && want[0] != "2" {
		t.Fatalf("found %v", want)
	}
	n := 100
	got := w.walk(t, "relational model", 1, func() {
		w.Clock.Advance(time.Millisecond)
		n++
		// Ranks above all cards seen so far: it belongs before the cursor and must not shift any card past it.
		w.save(t, fmt.Sprintf(`{"id":"%d","title":"Relational model","note":"relational model"}`, n))
	})
	if !slices.Equal(got, want) {
		t.Errorf("by one while others save: %v, want %v", got, want)
	}
}

func TestThreadOfAFavouriteBelongsToTheSameAgent(t *testing.T) {
	t.Parallel()
	w := newService(t)
	own, err := w.threads.Create(t.Context(), w.Ada, w.Agent, "")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := w.threads.Create(t.Context(), w.Ada, w.SecondAgent, "")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := w.threads.Create(t.Context(), w.Bob, w.BobsAgent, "")
	if err != nil {
		t.Fatal(err)
	}
	card := json.RawMessage(`{"id":"c"}`)
	if f, err := w.Save(t.Context(), w.Ada, w.Agent, card, own.ID); err != nil || f.ThreadID != own.ID {
		t.Errorf("saved %+v, %v", f, err)
	}
	for name, id := range map[string]string{
		"another agent's": elsewhere.ID, "somebody else's": theirs.ID, "unknown": "thr_" + strings.Repeat("0", 26),
		"junk": "junk", "a NUL": own.ID + "\x00",
	} {
		_, err := w.Save(t.Context(), w.Ada, w.Agent, card, id)
		if e := core.AsError(err); e.Kind != core.KindInvalid || len(e.Fields) != 1 ||
			e.Fields[0].Pointer != "/threadId" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadCardsQueriesAndCursorsAreRefused(t *testing.T) {
	t.Parallel()
	w := newService(t)
	for _, card := range []string{
		`[]`, `"x"`, `{`, `{"a":1,"a":2}`, `{"a":"\ud800"}`,
		`{"a":"` + strings.Repeat("x", favourite.MaxCard) + `"}`,
	} {
		if _, err := w.Save(t.Context(), w.Ada, w.Agent, json.RawMessage(card), ""); !core.IsKind(err,
			core.KindInvalid) {
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
		"a cursor of all":     {"", core.Page{Cursor: core.EncodeCursor("favourites.all", "1", "x", "a")}},
		"a cursor of words":   {"", core.Page{Cursor: core.EncodeCursor("favourites.q", "1", "1", "x", "a")}},
		"a cursor of none":    {"x", core.Page{Cursor: core.EncodeCursor("favourites", "1", "x", "a")}},
		"a cursor, no time":   {"", core.Page{Cursor: core.EncodeCursor("favourites", "soon", "x", "a")}},
		"a cursor, no score":  {"x", core.Page{Cursor: core.EncodeCursor("favourites.q", "best", "1", "x", "a")}},
		"a cursor, no time q": {"x", core.Page{Cursor: core.EncodeCursor("favourites.q", "1", "soon", "x", "a")}},
	} {
		if _, _, err := w.List(t.Context(), w.Ada, w.Agent, c.q, c.page); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found, _, err := w.List(t.Context(), w.Ada, w.Agent, strings.Repeat("😀", 500), core.Page{}); err != nil ||
		len(found) != 0 {
		t.Errorf("a query of the full length: %v, %v", found, err)
	}
}

func TestFavouritesAreHiddenFromOtherUsers(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(t, `{"id":"mine"}`)
	ctx := t.Context()
	_, errSave := w.Save(ctx, w.Bob, w.Agent, json.RawMessage(`{}`), "")
	_, _, errList := w.List(ctx, w.Bob, w.Agent, "", core.Page{})
	_, _, errFind := w.List(ctx, w.Bob, w.Agent, "mine", core.Page{})
	for name, err := range map[string]error{
		"save": errSave, "list": errList, "find": errFind, "delete": w.Delete(ctx, w.Bob, w.Agent, "mine"),
		"delete by another way": w.Delete(ctx, w.Bob, w.BobsAgent, "mine"),
		"export":                w.Export(ctx, w.Bob, w.Agent, favourite.Filter{}, favourite.FormatCSV, new(bytes.Buffer)),
		"under another agent":   w.Delete(ctx, w.Ada, w.SecondAgent, "mine"),
		"unknown":               w.Delete(ctx, w.Ada, w.Agent, "none"),
		"a slash":               w.Delete(ctx, w.Ada, w.Agent, "a/b"), "a NUL": w.Delete(ctx, w.Ada, w.Agent, "mine\x00"),
		"nothing": w.Delete(ctx, w.Ada, w.Agent, ""),
	} {
		if !core.IsKind(err, core.KindNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var out bytes.Buffer
	if err := w.Export(ctx, w.Ada, w.Agent, favourite.Filter{}, favourite.FormatCSV, &out); err != nil ||
		!strings.Contains(out.String(), "mine") {
		t.Errorf("exported %q, %v", out.String(), err)
	}
	if err := w.Delete(ctx, w.Ada, w.Agent, "mine"); err != nil {
		t.Error(err)
	}
	if _, err := w.Save(ctx, core.Actor{UserID: w.Ada.UserID}, w.Agent, json.RawMessage(`{}`),
		""); core.AsError(err).Code != "insufficient_scope" {
		t.Errorf("without a scope: %v", err)
	}
}

// keeper records the documents to keep, and can be made to fail.
type keeper struct {
	kept  []string
	err   error
	texts map[string]string
}

func (k *keeper) Openings(context.Context, string, string, []string) (map[string]string, error) {
	return k.texts, nil
}

func (k *keeper) KeepCard(_ context.Context, userID, agentID, cardID string) error {
	k.kept = append(k.kept, userID+" "+agentID+" "+cardID)
	return k.err
}

func TestDocumentOfASavedCardIsKept(t *testing.T) {
	t.Parallel()
	w := newService(t)
	k := w.documents
	if _, err := w.Save(t.Context(), w.Ada, w.Agent, []byte(`{"cardId": "card_1"}`), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Save(t.Context(), w.Bob, w.Agent, []byte(`{"cardId": "card_2"}`), ""); err == nil {
		t.Error("another's agent takes a card")
	}
	if want := w.Ada.UserID + " " + w.Agent + " card_1"; len(k.kept) != 1 || k.kept[0] != want {
		t.Errorf("kept %v, not %s", k.kept, want)
	}
	k.err = core.NotFound("document")
	if _, err := w.Save(t.Context(), w.Ada, w.Agent, []byte(`{"cardId": "card_3"}`), ""); err == nil {
		t.Error("a card is saved whose document could not be kept")
	}
}
