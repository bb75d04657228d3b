package source_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/federated"
	"carrel/internal/outbound"
	"carrel/internal/search"
	"carrel/internal/secretbox"
	"carrel/internal/source"
	"carrel/internal/testkit/federatedfake"
)

// federatedFixture is a fixture with fake OpenAlex and Brave servers.
type federatedFixture struct {
	*fixture
	openalex, brave *federatedfake.Server
}

const braveKey = "key-of-the-test"

func newFederatedFixture(t *testing.T, change ...func(*source.Deps)) *federatedFixture {
	t.Helper()
	w := &federatedFixture{openalex: federatedfake.New(t, "openalex"), brave: federatedfake.New(t, "brave")}
	w.brave.Key = braveKey
	catalogue := federated.New(federated.Options{
		Client:  outbound.NewClient(outbound.Options{Private: true, Timeout: time.Minute}),
		Version: "test", Private: true, Hosts: map[string]string{"openalex": w.openalex.URL, "brave": w.brave.URL},
	})
	box, err := secretbox.New([]byte("secret of the installation, long"), "sources")
	if err != nil {
		t.Fatal(err)
	}
	deps := source.Deps{
		Kinds:            append(source.StoredKinds(), catalogue.Kinds()...),
		Federated:        catalogue,
		FederatedTimeout: 30 * time.Second,
		Sealer:           box,
	}
	for _, c := range change {
		c(&deps)
	}
	w.fixture = newFixtureWith(t, deps)
	return w
}

func (w *federatedFixture) add(t *testing.T, n source.New) source.Source {
	t.Helper()
	if n.Name == "" {
		n.Name = n.Kind
	}
	src, err := w.Add(t.Context(), w.ada, w.agent, n)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func (w *federatedFixture) search(t *testing.T, r search.Query) source.Found {
	t.Helper()
	if r.Text == "" {
		r.Text = "relational"
	}
	reply, err := w.Search(t.Context(), w.ada, w.agent, r)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func (w *federatedFixture) find(t *testing.T) source.Found {
	t.Helper()
	found, err := w.Find(t.Context(), source.Buyer{UserID: w.ada.UserID, AgentID: w.agent},
		search.Query{Text: "relational"})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func cardIDs(cards []source.Card) []string {
	out := []string{}
	for _, c := range cards {
		out = append(out, c.ExternalID)
	}
	return out
}

// codes returns the codes of warnings by source.
func codes(warnings []source.Warning) map[string]string {
	out := map[string]string{}
	for _, w := range warnings {
		out[w.SourceID] = w.Code
	}
	return out
}

var codd = federatedfake.Work{
	ID: "W1", Title: "A relational model of data", Text: "Future users must be protected.", DOI: "10.1145/362384",
	Year: 1970,
}

func TestFindMergesFederatedAndStoredResults(t *testing.T) {
	t.Parallel()
	w := newFederatedFixture(t)
	web := federatedfake.New(t, "searxng", federatedfake.Work{ID: "page", Title: "Relational pages", Text: "Of the web."})
	w.openalex.Find(codd, federatedfake.Work{ID: "W2", Title: "Another", Text: "Relational too."})
	alex := w.add(t, source.New{Kind: "openalex"})
	engine := w.add(t, source.New{Kind: "searxng", Settings: source.Settings{URL: web.URL + "/"}})
	library := w.library(t)
	if _, err := w.Import(t.Context(), w.ada, library, func(yield func(source.Document, error) bool) {
		yield(source.Document{
			ExternalID: "own", Title: "A relational model", Text: "My own copy.", DOI: "https://doi.org/10.1145/362384",
		}, nil)
	}, nil); err != nil {
		t.Fatal(err)
	}
	found := w.find(t)
	// The work that two sources return comes first, shown as the stored record; the others are ordered by rank.
	if got := externalIDs(found); !slices.Equal(got, []string{"own", "https://example.org/page", "W2"}) {
		t.Errorf("found %v", got)
	}
	if len(found.Warnings) != 0 || len(found.Searched) != 3 {
		t.Errorf("searched %v with %v", found.Searched, found.Warnings)
	}
	if h := found.Cards[1]; h.SourceID != engine.ID || h.ID == "" || h.Snippet.Text == "" || h.Score <= 0 {
		t.Errorf("a hit is %+v", h)
	}
	if h := found.Cards[2]; h.SourceID != alex.ID || h.Text != "Relational too." {
		t.Errorf("a hit is %+v", h)
	}
	// Results that are not kept are neither counted nor indexed.
	sources, err := w.List(t.Context(), w.ada, w.agent)
	if err != nil || sources[0].Documents != 1 || sources[1].Documents+sources[2].Documents != 0 {
		t.Errorf("sources %+v, %v", sources, err)
	}
}

func TestFederatedSourceCanBeTheDefault(t *testing.T) {
	t.Parallel()
	w := newFederatedFixture(t)
	w.openalex.Find(codd, federatedfake.Work{ID: "W2", Title: "Two", Year: 1970},
		federatedfake.Work{ID: "W3", Title: "Three", Year: 1981}, federatedfake.Work{ID: "W4", Title: "Four"})
	alex := w.add(t, source.New{Kind: "openalex", Default: true})
	reply := w.search(t, search.Query{Facets: true})
	want := []search.YearCount{{Year: 1970, Count: 2}, {Year: 1981, Count: 1}}
	if reply.Searched[0].ID != alex.ID || reply.Total != 4 || !slices.Equal(reply.Years, want) ||
		len(reply.Warnings) != 0 {
		t.Errorf("replied %+v", reply)
	}
	if got := cardIDs(reply.Cards); !slices.Equal(got, []string{"W1", "W2", "W3", "W4"}) {
		t.Errorf("the order is %v", got)
	}
	err := w.Delete(t.Context(), w.ada, w.agent, alex.ID, "")
	if !core.IsKind(err, core.KindConflict) {
		t.Errorf("a default without a successor is deleted: %v", err)
	}
}

func TestYearBoundsApplyToFederatedResults(t *testing.T) {
	t.Parallel()
	w := newFederatedFixture(t)
	w.openalex.Find(codd, federatedfake.Work{ID: "W0", Title: "Early", Year: 1969},
		federatedfake.Work{ID: "W9", Title: "Late", Year: 1981}, federatedfake.Work{ID: "WU", Title: "Undated"})
	alex := w.add(t, source.New{Kind: "openalex"})
	for name, c := range map[string]struct {
		from, to, undated int
		want              []string
	}{
		"both": {1970, 1980, 1, []string{"W1"}}, "from": {1970, 0, 1, []string{"W1", "W9"}},
		"to":   {0, 1970, 1, []string{"W1", "W0"}},
		"none": {0, 0, 0, []string{"W1", "W0", "W9", "WU"}},
	} {
		reply := w.search(t, search.Query{Sources: []string{alex.ID}, FromYear: c.from, ToYear: c.to, Facets: true})
		got := cardIDs(reply.Cards)
		if !slices.Equal(got, c.want) || reply.UndatedExcluded != c.undated || reply.Total != len(c.want) {
			t.Errorf("%s: %v, %d undated of %d", name, got, reply.UndatedExcluded, reply.Total)
		}
	}
	// The stored year of a kept document decides, even if the source has changed it.
	if _, err := w.Document(t.Context(), w.ada, w.agent,
		w.search(t, search.Query{Sources: []string{alex.ID}, Facets: true}).Cards[0].ID); err != nil {
		t.Fatal(err)
	}
	moved := codd
	moved.Year = 1975
	w.openalex.Find(moved)
	if reply := w.search(t, search.Query{
		Sources: []string{alex.ID}, FromYear: 1974, Facets: true,
	}); len(reply.Cards) != 0 {
		t.Errorf("found %v", cardIDs(reply.Cards))
	}
}

func TestFailedFederatedSourceIsAWarning(t *testing.T) {
	t.Parallel()
	w := newFederatedFixture(t, func(d *source.Deps) { d.FederatedTimeout = 6 * time.Second })
	web := federatedfake.New(t, "searxng", federatedfake.Work{ID: "page", Title: "Relational pages"})
	w.openalex.Hang()
	w.brave.Fail(402)
	alex := w.add(t, source.New{Kind: "openalex"})
	brave := w.add(t, source.New{Kind: "brave", Secret: braveKey})
	w.add(t, source.New{Kind: "searxng", Settings: source.Settings{URL: web.URL}})
	found := w.find(t)
	if got := externalIDs(found); !slices.Equal(got, []string{"https://example.org/page"}) {
		t.Errorf("found %v", got)
	}
	want := map[string]string{alex.ID: source.WarnSourceTimeout, brave.ID: source.WarnSourceRefused}
	if got := codes(found.Warnings); !maps.Equal(got, want) {
		t.Errorf("warned %v, not %v", got, want)
	}
	for _, warning := range found.Warnings {
		if !strings.HasSuffix(warning.Detail, ".") || strings.Contains(warning.Detail, braveKey) {
			t.Errorf("says %q", warning.Detail)
		}
	}
}

func TestSearchFailsOnlyIfAllSourcesFail(t *testing.T) {
	t.Parallel()
	w, ctx := newFederatedFixture(t), t.Context()
	w.openalex.Find(codd)
	alex := w.add(t, source.New{Kind: "openalex"})
	first := w.search(t, search.Query{Sources: []string{alex.ID}, Facets: true}).Cards[0]
	w.openalex.Fail(403)
	turn := source.Buyer{UserID: w.ada.UserID, AgentID: w.agent}
	only := search.Query{Text: "relational data", Sources: []string{alex.ID}}
	ask := search.Query{Sources: []string{alex.ID}, Text: "relational data", Facets: true}
	_, err := w.Search(ctx, w.ada, w.agent, ask)
	_, errOfTurn := w.Find(ctx, turn, only)
	for _, err := range []error{err, errOfTurn} {
		if e := core.AsError(err); e.Kind != core.KindUnavailable || !strings.Contains(e.Detail, "key") {
			t.Errorf("with nothing at all: %v", err)
		}
	}
	// A stored source without hits did not fail.
	only.Sources = nil
	if found, err := w.Find(ctx, turn, only); err != nil || len(found.Cards) != 0 ||
		codes(found.Warnings)[alex.ID] != source.WarnSourceRefused {
		t.Errorf("with a stored source: %+v, %v", found, err)
	}
	// Kept documents are searched instead.
	if _, err := w.Document(ctx, w.ada, w.agent, first.ID); err != nil {
		t.Fatal(err)
	}
	reply := w.search(t, ask)
	found, err := w.Find(ctx, turn, only)
	if err != nil || !slices.Equal(cardIDs(reply.Cards), []string{"W1"}) ||
		!slices.Equal(externalIDs(found), []string{"W1"}) ||
		codes(reply.Warnings)[alex.ID] != source.WarnSourceRefused ||
		codes(found.Warnings)[alex.ID] != source.WarnSourceRefused {
		t.Errorf("with a document that was kept: %+v, %+v, %v", reply, found, err)
	}
}

func TestRepliesAreCachedForAnHour(t *testing.T) {
	t.Parallel()
	w := newFederatedFixture(t)
	w.openalex.Find(codd)
	alex := w.add(t, source.New{Kind: "openalex"})
	twin := w.add(t, source.New{Kind: "openalex", Name: "Twin"})
	wantRequests := func(n int, after string) {
		t.Helper()
		if got := len(w.openalex.Asked()); got != n {
			t.Errorf("%s: %d requests, want %d", after, got, n)
		}
	}
	first := w.search(t, search.Query{Sources: []string{alex.ID}, Facets: true})
	again := w.search(t, search.Query{Sources: []string{alex.ID}, Text: " relational ", Facets: true})
	if wantRequests(1, "the same query"); !reflect.DeepEqual(again.Cards, first.Cards) {
		t.Errorf("the cached reply is %+v, want %+v", again.Cards, first.Cards)
	}
	other := w.search(t, search.Query{Sources: []string{twin.ID}, Facets: true})
	if wantRequests(1, "another source with the same settings"); other.Cards[0].SourceID != twin.ID ||
		other.Cards[0].ID == first.Cards[0].ID {
		t.Errorf("the other source has %+v", other.Cards[0])
	}
	w.search(t, search.Query{Sources: []string{alex.ID}, Limit: 3, Facets: true})
	wantRequests(2, "another limit")
	w.search(t, search.Query{Sources: []string{alex.ID}, FromYear: 1900, Facets: true})
	wantRequests(3, "year bounds")
	w.search(t, search.Query{Sources: []string{alex.ID}, Text: "other", Facets: true})
	wantRequests(4, "another query")
	w.Service = source.NewService(w.deps) // the cache survives a restart
	w.search(t, search.Query{Sources: []string{alex.ID}, Facets: true})
	wantRequests(4, "after a restart")
	w.clock.Advance(time.Hour + time.Minute)
	w.search(t, search.Query{Sources: []string{alex.ID}, Facets: true})
	wantRequests(5, "after an hour")
}

func TestCachedRepliesAreNotSharedBetweenKeys(t *testing.T) {
	t.Parallel()
	w := newFederatedFixture(t)
	w.brave.Find(federatedfake.Work{ID: "page", Title: "Relational"})
	w.search(t, search.Query{Sources: []string{w.add(t, source.New{Kind: "brave", Secret: braveKey}).ID}, Facets: true})
	wrong := w.add(t, source.New{Kind: "brave", Name: "Wrong", Secret: "other"})
	if _, err := w.Search(t.Context(), w.ada, w.agent, search.Query{
		Sources: []string{wrong.ID}, Text: "relational", Facets: true,
	}); !core.IsKind(err, core.KindUnavailable) {
		t.Errorf("the wrong key: %v", err)
	}
}

func TestResultsExpireUnlessOpenedOrSaved(t *testing.T) {
	t.Parallel()
	w, ctx := newFederatedFixture(t), t.Context()
	w.openalex.Find(codd, federatedfake.Work{ID: "W2", Title: "Two"}, federatedfake.Work{ID: "W3", Title: "Three"},
		federatedfake.Work{ID: "W4", Title: "Four"})
	alex := w.add(t, source.New{Kind: "openalex"})
	cards := w.search(t, search.Query{Sources: []string{alex.ID}, Facets: true}).Cards
	if d, err := w.Document(ctx, w.ada, w.agent, cards[0].ID); err != nil || d.Text != codd.Text || d.ExpiresAt != nil {
		t.Fatalf("opened %+v, %v", d, err)
	}
	if err := w.KeepCard(ctx, w.ada.UserID, w.agent, cards[1].CardID()); err != nil {
		t.Fatal(err)
	}
	for _, odd := range []string{"", "card_", "card_x", "doc_x", cards[2].ID} { // not ids of cards
		if err := w.KeepCard(ctx, w.ada.UserID, w.agent, odd); err != nil {
			t.Errorf("%q: %v", odd, err)
		}
	}
	if err := w.KeepCard(ctx, w.bob.UserID, w.agent, cards[2].CardID()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DocumentOf(ctx, w.ada.UserID, w.agent, cards[3].ID); err != nil { // reading in a turn is not citing
		t.Fatal(err)
	}
	remaining := func() (ids []string) {
		t.Helper()
		if err := w.Prune(ctx); err != nil {
			t.Fatal(err)
		}
		for _, c := range cards {
			if _, err := w.DocumentOf(ctx, w.ada.UserID, w.agent, c.ID); err == nil {
				ids = append(ids, c.ExternalID)
			}
		}
		return ids
	}
	w.clock.Advance(6 * 24 * time.Hour)
	if got := remaining(); len(got) != 4 {
		t.Errorf("after six days: %v", got)
	}
	w.clock.Advance(2 * 24 * time.Hour)
	if got := remaining(); !slices.Equal(got, []string{"W1", "W2"}) {
		t.Errorf("after eight days: %v", got)
	}
	src, err := w.Get(ctx, w.ada, w.agent, alex.ID)
	if err != nil || src.Documents != 2 {
		t.Errorf("the source has %d documents, %v", src.Documents, err)
	}
	// A kept document has the same card and text in later searches.
	changed := codd
	changed.Text = "Withdrawn."
	w.openalex.Find(changed)
	got := w.search(t, search.Query{Sources: []string{alex.ID}, Facets: true}).Cards[0]
	if got.CardID() != cards[0].CardID() || got.Text != codd.Text {
		t.Errorf("found %+v", got)
	}
}

func TestSettingsAndSecretsOfFederatedKindsAreValidated(t *testing.T) {
	t.Parallel()
	w, ctx := newFederatedFixture(t), t.Context()
	for name, c := range map[string]struct {
		n       source.New
		pointer string
	}{
		"no key":             {source.New{Kind: "brave"}, "/secret"},
		"a key for nothing":  {source.New{Kind: "arxiv", Secret: "x"}, "/secret"},
		"a key of two words": {source.New{Kind: "exa", Secret: "x y"}, "/secret"},
		"no server":          {source.New{Kind: "searxng"}, "/settings/url"},
		"no web address":     {source.New{Kind: "mcp", Settings: source.Settings{URL: "ftp://example.org"}}, "/settings/url"},
		"another's server": {
			source.New{Kind: "crossref", Settings: source.Settings{URL: "https://example.org"}}, "/settings/url",
		},
		"an odd language": {
			source.New{Kind: "wikipedia", Settings: source.Settings{Language: "en.evil.example/"}}, "/settings/language",
		},
		"no language": {source.New{Kind: "pubmed", Settings: source.Settings{Language: "en"}}, "/settings/language"},
		"no tool": {
			source.New{Kind: "searxng", Settings: source.Settings{URL: "https://example.org", Tool: "x"}}, "/settings/tool",
		},
		"a folder":   {source.New{Kind: "core", Secret: "k", Settings: source.Settings{Path: "/srv"}}, "/settings"},
		"a schedule": {source.New{Kind: "europepmc", Settings: source.Settings{SyncMinutes: 60}}, "/settings/syncMinutes"},
		"no kind":    {source.New{Kind: "google"}, "/kind"},
	} {
		c.n.Name = "X"
		_, err := w.Add(ctx, w.ada, w.agent, c.n)
		if e := core.AsError(err); e.Kind != core.KindInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != c.pointer {
			t.Errorf("%s: %+v", name, e)
		}
	}
	brave := w.add(t, source.New{Kind: "brave", Secret: braveKey})
	none, name, key := "", "Renamed", "new-key"
	if _, err := w.Change(ctx, w.ada, w.agent, brave.ID, source.Change{
		Secret: &none,
	}); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("a required key was removed: %v", err)
	}
	got, err := w.Change(ctx, w.ada, w.agent, brave.ID, source.Change{
		Name: &name, Settings: &source.Settings{}, Default: true,
	})
	if secret, _ := w.Secret(got); err != nil || got.Name != name || !got.Default || secret != braveKey {
		t.Errorf("changed to %+v with %q, %v", got, secret, err)
	}
	got, err = w.Change(ctx, w.ada, w.agent, brave.ID, source.Change{Secret: &key})
	if secret, _ := w.Secret(got); err != nil || secret != key || strings.Contains(string(got.Sealed), key) {
		t.Errorf("changed to %+v with %q, %v", got, secret, err)
	}
	if w.Syncs(got) {
		t.Error("it can be synced")
	}
}

// fakePayer approves searches unless refusal is set.
type fakePayer struct {
	mu      sync.Mutex
	refusal error
	held    []source.Buyer
	settled int
}

func (p *fakePayer) HoldSearch(_ context.Context, b source.Buyer, kind string) (func(context.Context) error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusal != nil {
		return nil, p.refusal
	}
	if kind != "brave" {
		return nil, errors.New("not a paid kind")
	}
	p.held = append(p.held, b)
	return func(context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.settled++
		return nil
	}, nil
}

func TestPaidSearchesAreChargedOnceAndStopAtTheCap(t *testing.T) {
	t.Parallel()
	p := &fakePayer{}
	w := newFederatedFixture(t, func(d *source.Deps) { d.Payer = p })
	w.brave.Find(federatedfake.Work{ID: "page", Title: "Relational"})
	brave, alex := w.add(t, source.New{Kind: "brave", Secret: braveKey}), w.add(t, source.New{Kind: "openalex"})
	w.ada.CredentialID = "key_1"
	for range 2 {
		w.search(t, search.Query{Sources: []string{brave.ID}, Facets: true})
	}
	w.search(t, search.Query{Sources: []string{alex.ID}, Facets: true})
	want := []source.Buyer{{UserID: w.ada.UserID, CredentialID: "key_1", AgentID: w.agent}}
	if !slices.Equal(p.held, want) || p.settled != 1 {
		t.Errorf("held %v and settled %d", p.held, p.settled)
	}
	w.brave.Fail(500)
	failing := search.Query{Sources: []string{brave.ID}, Text: "fails", Facets: true}
	if _, err := w.Search(t.Context(), w.ada, w.agent, failing); err == nil {
		t.Error("the search did not fail")
	}
	if p.settled != 2 {
		t.Errorf("a failed search was not settled")
	}
	w.brave.Find()
	requests := len(w.brave.Asked())
	p.refusal = &core.Error{Kind: core.KindPaymentRequired, Code: "spend_cap_reached", Detail: "No more this month."}
	_, err := w.Search(t.Context(), w.ada, w.agent, search.Query{
		Sources: []string{brave.ID}, Text: "beyond", Facets: true,
	})
	if e := core.AsError(err); e.Code != "spend_cap_reached" {
		t.Errorf("beyond the cap: %v", err)
	}
	found, err := w.Find(t.Context(), source.Buyer{UserID: w.ada.UserID, AgentID: w.agent}, search.Query{Text: "beyond"})
	if err != nil || codes(found.Warnings)[brave.ID] != "spend_cap_reached" || len(w.brave.Asked()) != requests {
		t.Errorf("beyond the cap in a turn: %+v, %v, %d more requests", found.Warnings, err, len(w.brave.Asked())-requests)
	}
}

func TestUnreadableSecretIsAWarning(t *testing.T) {
	t.Parallel()
	w := newFederatedFixture(t)
	brave := w.add(t, source.New{Kind: "brave", Secret: braveKey})
	deps := w.deps
	var err error
	if deps.Sealer, err = secretbox.New([]byte("another secret of an installation"), "sources"); err != nil {
		t.Fatal(err)
	}
	w.Service = source.NewService(deps)
	if got := codes(w.find(t).Warnings); got[brave.ID] != source.WarnSourceRefused || len(w.brave.Asked()) != 0 {
		t.Errorf("warned %v", got)
	}
}
