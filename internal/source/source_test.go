package source_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/language"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/testkit"
	kit "carrel/internal/testkit/fixture"
	"carrel/internal/testkit/indexed"
)

// fixture is a service with two users, who have an agent each.
type fixture struct {
	*source.Service
	deps   source.Deps
	db     *store.DB
	clock  *testkit.Clock
	engine *recordingEngine
	// guess is the detected language of every text, and sampled are the texts.
	guess         string
	sampled       []string
	ada, bob      core.Actor
	agent, theirs string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureWith(t, source.Deps{})
}

// newFixtureWith sets the required dependencies of d and the language detector.
func newFixtureWith(t *testing.T, d source.Deps) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: kit.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	clock := testkit.NewClock()
	events := audit.New(audit.Deps{Store: db, Clock: clock, Log: slog.New(slog.DiscardHandler)})
	agents := agent.NewService(agent.Deps{Store: db, Clock: clock, Audit: events})
	w := &fixture{db: db, clock: clock, engine: &recordingEngine{Engine: indexed.Open(t, db), indexed: -1}}
	var mu sync.Mutex // federated sources detect their languages concurrently
	d.GuessLanguage = func(text string) string {
		mu.Lock()
		defer mu.Unlock()
		w.sampled = append(w.sampled, text)
		return w.guess
	}
	d.ParseLanguage = language.Parse
	d.Store, d.Agents, d.Engine, d.Clock = db, agents, w.engine, clock
	w.deps, w.Service = d, source.NewService(d)
	user := func() (core.Actor, string) {
		id := core.NewID(core.PrefixUser)
		u := account.User{
			ID: id, Email: id + "@example.org", Name: "U",
			Role: core.RoleMember, Plan: core.PlanOpen, CreatedAt: clock.Now(),
		}
		if err := db.InsertUser(t.Context(), u, "none"); err != nil {
			t.Fatal(err)
		}
		who := core.Actor{
			UserID: id, Plan: core.PlanOpen, Credential: core.CredentialKey,
			Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage},
		}
		name := "A"
		a, err := agents.Create(t.Context(), who, agent.Change{Name: &name})
		if err != nil {
			t.Fatal(err)
		}
		return who, a.ID
	}
	w.ada, w.agent = user()
	w.bob, w.theirs = user()
	return w
}

// recordingEngine searches an index that is always up to date, and records the last query.
type recordingEngine struct {
	*indexed.Engine
	// indexed is the result of Indexed; negative means unknown.
	indexed int
	query   search.Query
	// embeddingFailed and wordsOnly are set in every result.
	embeddingFailed, wordsOnly bool
	// lost is the number of documents that every search drops as damaged.
	lost int
}

func (e *recordingEngine) Search(ctx context.Context, q search.Query) (search.Result, error) {
	e.query = q
	e.indexed -= e.lost
	result, err := e.Engine.Search(ctx, q)
	result.EmbeddingFailed, result.WordsOnly = e.embeddingFailed, e.wordsOnly
	return result, err
}

func (e *recordingEngine) Indexed(string) (int, bool) { return e.indexed, e.indexed >= 0 }

// documents yields n documents, then failure unless it is nil.
func documents(n int, text string, failure error) iter.Seq2[source.Document, error] {
	return func(yield func(source.Document, error) bool) {
		for i := range n {
			d := source.Document{
				ExternalID: strconv.Itoa(i), Title: fmt.Sprintf("Relational %d", i), Text: text, Year: 1970,
			}
			if !yield(d, nil) {
				return
			}
		}
		if failure != nil {
			yield(source.Document{}, failure)
		}
	}
}

func (w *fixture) library(t *testing.T) source.Source {
	t.Helper()
	src, err := w.Default(t.Context(), w.ada, w.agent)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestRepeatedImportStoresOnlyChangedDocuments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	src := w.library(t)
	var progress []source.Imported
	done, err := w.Import(t.Context(), w.ada, src, documents(501, "old", nil), func(i source.Imported) {
		progress = append(progress, i)
	})
	if err != nil || done != (source.Imported{Added: 501}) || done.Total() != 501 {
		t.Fatalf("imported %+v, %v", done, err)
	}
	if !slices.Equal(progress, []source.Imported{{Added: 500}, {Added: 501}}) {
		t.Errorf("the progress was %+v", progress)
	}
	before, err := w.Search(t.Context(), w.ada, w.agent, search.Query{Text: "relational 7", Facets: true})
	if err != nil {
		t.Fatal(err)
	}
	again := func(yield func(source.Document, error) bool) {
		for d, err := range documents(501, "old", nil) {
			if d.ExternalID == "7" {
				d.Text = "new"
			}
			if !yield(d, err) {
				return
			}
		}
	}
	done, err = w.Import(t.Context(), w.ada, src, again, nil)
	if err != nil || done != (source.Imported{Updated: 1, Unchanged: 500}) {
		t.Errorf("imported again: %+v, %v", done, err)
	}
	after, err := w.Search(t.Context(), w.ada, w.agent, search.Query{Text: "relational 7", Facets: true})
	if err != nil || after.Cards[0].CardID() != before.Cards[0].CardID() || after.Cards[0].Text != "new" {
		t.Errorf("the card was %s, is %s of %q, %v",
			before.Cards[0].CardID(), after.Cards[0].CardID(), after.Cards[0].Text, err)
	}
	if id := after.Cards[0].CardID(); !strings.HasPrefix(id, "card_") || len(id) != 31 {
		t.Errorf("the card's id is %s", id)
	}
	if done, err := w.Import(t.Context(), w.ada, src, documents(0, "", nil), nil); err != nil || done.Total() != 0 {
		t.Errorf("an empty import: %+v, %v", done, err)
	}
}

func TestFailedImportKeepsEarlierBatches(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	broken := errors.New("the file ends here")
	done, err := w.Import(t.Context(), w.ada, w.library(t), documents(700, "x", broken), nil)
	if !errors.Is(err, broken) || done.Added != 500 {
		t.Errorf("imported %+v, %v", done, err)
	}
	if n := w.library(t).Documents; n != 500 {
		t.Errorf("the source has %d documents", n)
	}
	done, err = w.Import(t.Context(), w.ada, w.library(t), documents(700, "x", nil), nil)
	if err != nil || done != (source.Imported{Added: 200, Unchanged: 500}) {
		t.Errorf("repeated import: %+v, %v", done, err)
	}
}

func TestAddOrFindCreatesASourceOncePerName(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	library := w.library(t)
	first, err := w.AddOrFind(ctx, w.ada, w.agent, source.New{Name: " Papers "})
	if err != nil || first.Name != "Papers" || first.Default {
		t.Fatalf("added %+v, %v", first, err)
	}
	again, err := w.AddOrFind(ctx, w.ada, w.agent, source.New{Name: "Papers"})
	if err != nil || again.ID != first.ID {
		t.Errorf("found %+v, %v", again, err)
	}
	if w.library(t).ID != library.ID {
		t.Error("a new source replaced the default")
	}
	again, err = w.AddOrFind(ctx, w.ada, w.agent, source.New{Name: "Papers", Default: true})
	if err != nil || again.ID != first.ID || !again.Default || w.library(t).ID != first.ID {
		t.Errorf("made the default: %+v, %v", again, err)
	}
	third, err := w.Add(ctx, w.ada, w.agent, source.New{Name: "Third", Default: true})
	if err != nil || w.library(t).ID != third.ID {
		t.Errorf("added as the default: %+v, %v", third, err)
	}
	for _, name := range []string{"", " ", strings.Repeat("é", 101), "a\x00", "\xff"} {
		_, errAdd := w.Add(ctx, w.ada, w.agent, source.New{Name: name})
		_, errFind := w.AddOrFind(ctx, w.ada, w.agent, source.New{Name: name})
		for _, err := range []error{errAdd, errFind} {
			if e := core.AsError(err); e.Kind != core.KindInvalid || e.Fields[0].Pointer != "/name" {
				t.Errorf("the name %q: %v", name, err)
			}
		}
	}
}

func TestInvalidSearchReportsEachField(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	theirs, err := w.Default(t.Context(), w.bob, w.theirs)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		request search.Query
		fields  []string
	}{
		"no query":         {search.Query{Facets: true}, []string{"/query"}},
		"white space":      {search.Query{Text: " \t\u00a0", Facets: true}, []string{"/query"}},
		"2001 characters":  {search.Query{Text: strings.Repeat("😀", 2001), Facets: true}, []string{"/query"}},
		"a NUL":            {search.Query{Text: "a\x00", Facets: true}, []string{"/query"}},
		"invalid UTF-8":    {search.Query{Text: "a\xff", Facets: true}, []string{"/query"}},
		"too many results": {search.Query{Text: "q", Limit: 101, Facets: true}, []string{"/numResults"}},
		"less than none":   {search.Query{Text: "q", Limit: -1, Facets: true}, []string{"/numResults"}},
		"years out of bounds": {
			search.Query{Text: "q", FromYear: -1, ToYear: 10000, Facets: true}, []string{"/fromYear", "/toYear"},
		},
		"years crossed":     {search.Query{Text: "q", FromYear: 1971, ToYear: 1970, Facets: true}, []string{"/fromYear"}},
		"an unknown source": {search.Query{Text: "q", Sources: []string{"src_none"}, Facets: true}, []string{"/sourceId"}},
		"another's source":  {search.Query{Text: "q", Sources: []string{theirs.ID}, Facets: true}, []string{"/sourceId"}},
	} {
		_, err := w.Search(t.Context(), w.ada, w.agent, c.request)
		var fields []string
		for _, f := range core.AsError(err).Fields {
			fields = append(fields, f.Pointer)
		}
		if !core.IsKind(err, core.KindInvalid) || !slices.Equal(fields, c.fields) {
			t.Errorf("%s: %v about %v, want %v", name, err, fields, c.fields)
		}
	}
}

func TestSearchReturnsTenResultsByDefault(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if _, err := w.Import(t.Context(), w.ada, w.library(t), documents(120, "x", nil), nil); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]int{0: 10, 1: 1, 100: 100} {
		got, err := w.Search(t.Context(), w.ada, w.agent, search.Query{Text: " relational ", Limit: limit, Facets: true})
		if err != nil || len(got.Cards) != want || got.Total != 120 {
			t.Errorf("limit %d: %d of %d, %v", limit, len(got.Cards), got.Total, err)
		}
	}
	got, err := w.Search(t.Context(), w.ada, w.agent, search.Query{Text: "relational"})
	if err != nil || got.Total != 0 || got.Years != nil {
		t.Errorf("without counts: %+v, %v", got, err)
	}
}

func TestSourcesAreNotAccessibleToOtherUsers(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	mine := w.library(t)
	_, errSearch := w.Search(ctx, w.bob, w.agent, search.Query{Text: "q", Facets: true})
	_, errAdd := w.Add(ctx, w.bob, w.agent, source.New{Name: "n"})
	_, errFind := w.AddOrFind(ctx, w.bob, w.agent, source.New{Name: "Library", Default: true})
	_, errDefault := w.Default(ctx, w.bob, w.agent)
	_, errImport := w.Import(ctx, w.bob, mine, documents(1, "x", nil), nil)
	_, errLanguage := w.SetLanguage(ctx, w.bob, mine, "de")
	for name, err := range map[string]error{
		"search": errSearch, "add": errAdd, "find": errFind, "default": errDefault, "import": errImport,
		"language": errLanguage,
	} {
		if !core.IsKind(err, core.KindNotFound) {
			t.Errorf("another user: %s: %v", name, err)
		}
	}
	reader := w.ada
	reader.Scopes = []core.Scope{core.ScopeAgents}
	_, errAdd = w.Add(ctx, reader, w.agent, source.New{Name: "n"})
	_, errFind = w.AddOrFind(ctx, reader, w.agent, source.New{Name: "Library", Default: true})
	_, errImport = w.Import(ctx, reader, mine, documents(1, "x", nil), nil)
	_, errLanguage = w.SetLanguage(ctx, reader, mine, "de")
	for name, err := range map[string]error{"add": errAdd, "find": errFind, "import": errImport, "language": errLanguage} {
		if core.AsError(err).Code != "insufficient_scope" {
			t.Errorf("without the scope: %s: %v", name, err)
		}
	}
	withoutPlan := w.ada
	withoutPlan.Plan = core.PlanNone
	if _, err := w.Search(ctx, withoutPlan, w.agent, search.Query{
		Text: "q", Facets: true,
	}); core.AsError(err).Code != "no_subscription" {
		t.Errorf("without a plan: %v", err)
	}
	if n := w.library(t).Documents; n != 0 {
		t.Errorf("%d documents were imported", n)
	}
}

func TestNewServicePanicsWithoutARequiredDependency(t *testing.T) {
	t.Parallel()
	valid := newFixture(t).deps
	for name, remove := range map[string]func(*source.Deps){
		"store":            func(d *source.Deps) { d.Store = nil },
		"agents":           func(d *source.Deps) { d.Agents = nil },
		"engine":           func(d *source.Deps) { d.Engine = nil },
		"clock":            func(d *source.Deps) { d.Clock = nil },
		"federated search": func(d *source.Deps) { d.Kinds = []source.Kind{{Name: "catalogue", Federated: true}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := valid
			remove(&d)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			source.NewService(d)
		})
	}
}
