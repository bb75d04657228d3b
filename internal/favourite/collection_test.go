package favourite_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/favourite"
)

// all returns the ids of the favourites of all agents that a filter selects, by pages of two.
func (w *testService) all(t *testing.T, f favourite.Filter) []string {
	t.Helper()
	ids, page := []string{}, core.Page{Limit: 2}
	for {
		found, next, err := w.FindAll(t.Context(), w.Ada, f, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			ids = append(ids, f.CardID)
		}
		if page.Cursor = next; next == "" {
			return ids
		}
	}
}

func (w *testService) change(t *testing.T, cardID string, c favourite.Change) favourite.Favourite {
	t.Helper()
	f, err := w.Change(t.Context(), w.Ada, w.Agent, cardID, c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func pointers(err error) string {
	var out []string
	for _, f := range core.AsError(err).Fields {
		out = append(out, f.Pointer)
	}
	return strings.Join(out, " ")
}

func TestTagsAreCleanedAndFilterFavourites(t *testing.T) {
	t.Parallel()
	w := newService(t)
	for i := range 5 {
		w.save(t, fmt.Sprintf(`{"id":"%d","title":"Relational %d"}`, i, i))
		w.Clock.Advance(time.Second)
	}
	tags, note := []string{" To \n read ", "TO READ", "ähnlich", "b"}, "  Compare with Codd.  "
	got := w.change(t, "3", favourite.Change{Tags: &tags, Note: &note})
	if !slices.Equal(got.Tags, []string{"b", "TO READ", "ähnlich"}) || got.Note != "Compare with Codd." {
		t.Errorf("tags %q, note %q", got.Tags, got.Note)
	}
	w.change(t, "1", favourite.Change{Tags: &[]string{"to read"}})
	for name, c := range map[string]struct {
		filter favourite.Filter
		want   []string
	}{
		"all":                  {favourite.Filter{}, []string{"4", "3", "2", "1", "0"}},
		"tag in any case":      {favourite.Filter{Tag: "To Read"}, []string{"3", "1"}},
		"unknown tag":          {favourite.Filter{Tag: "read"}, []string{}},
		"word of a note":       {favourite.Filter{Query: "codd"}, []string{"3"}},
		"word of a tag":        {favourite.Filter{Query: "ahnlich"}, []string{"3"}},
		"tag and words":        {favourite.Filter{Query: "relational 1", Tag: "to read"}, []string{"1"}},
		"unknown collection":   {favourite.Filter{Collection: "col_none"}, []string{}},
		"words of all the set": {favourite.Filter{Query: "relational"}, []string{"4", "3", "2", "1", "0"}},
	} {
		if got := w.all(t, c.filter); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		found, _, err := w.Find(t.Context(), w.Ada, w.Agent, c.filter, core.Page{})
		if err != nil || len(found) != len(c.want) {
			t.Errorf("%s, of one agent: %v, %v", name, found, err)
		}
	}
	list, err := w.Tags(t.Context(), w.Ada)
	want := []core.Tag{{Name: "b", Count: 1}, {Name: "TO READ", Count: 2}, {Name: "ähnlich", Count: 1}}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("the tags are %v (%v), want %v", list, err, want)
	}
	w.change(t, "3", favourite.Change{Tags: &[]string{}})
	if got := w.all(t, favourite.Filter{Tag: "to read"}); !slices.Equal(got, []string{"1"}) {
		t.Errorf("after removing the tags: %v", got)
	}
}

func TestInvalidChangesOfFavouritesAreRefused(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(t, `{"id":"x"}`)
	long := strings.Repeat("é", 10_001)
	for name, c := range map[string]struct {
		change favourite.Change
		want   string
	}{
		"tags":        {favourite.Change{Tags: &[]string{"a", "  ", strings.Repeat("é", 101)}}, "/tags/1 /tags/2"},
		"many tags":   {favourite.Change{Tags: ref(make([]string, 51))}, "/tags"},
		"note":        {favourite.Change{Note: &long}, "/note"},
		"collections": {favourite.Change{Collections: &[]string{"col_none", "x"}}, "/collections/0 /collections/1"},
		"many":        {favourite.Change{Collections: ref(make([]string, 101))}, "/collections"},
	} {
		if _, err := w.Change(t.Context(), w.Ada, w.Agent, "x", c.change); pointers(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, cardID := range []string{"none", "", "."} {
		_, err := w.Change(t.Context(), w.Ada, w.Agent, cardID, favourite.Change{})
		if !core.IsKind(err, core.KindNotFound) {
			t.Errorf("card %q: %v", cardID, err)
		}
	}
	if _, err := w.Change(t.Context(), w.Bob, w.Agent, "x", favourite.Change{}); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("by another user: %v", err)
	}
}

func ref[T any](v T) *T { return &v }

func TestCollectionsHoldFavouritesUntilTheyAreDeleted(t *testing.T) {
	t.Parallel()
	w := newService(t)
	ctx := t.Context()
	w.save(t, `{"id":"x","title":"In"}`)
	w.save(t, `{"id":"y","title":"Out"}`)
	shelf, err := w.CreateCollection(ctx, w.Ada, " A \n shelf ")
	if err != nil || shelf.Name != "A shelf" {
		t.Fatalf("created %+v, %v", shelf, err)
	}
	again, err := w.CreateCollection(ctx, w.Ada, "a SHELF")
	if err != nil || again != shelf {
		t.Errorf("created again %+v, %v", again, err)
	}
	theirs, err := w.CreateCollection(ctx, w.Bob, "A shelf")
	if err != nil || theirs.ID == shelf.ID {
		t.Fatalf("another user's is %+v, %v", theirs, err)
	}
	if got := w.change(t, "x", favourite.Change{Collections: &[]string{shelf.ID}}); got.Collections[0] != shelf.ID {
		t.Errorf("changed to %+v", got)
	}
	_, err = w.Change(ctx, w.Ada, w.Agent, "x", favourite.Change{Collections: &[]string{theirs.ID}})
	if pointers(err) != "/collections/0" {
		t.Errorf("a collection of another user: %v", err)
	}
	if got := w.all(t, favourite.Filter{Collection: shelf.ID}); !slices.Equal(got, []string{"x"}) {
		t.Errorf("in the collection: %v", got)
	}
	var out bytes.Buffer
	err = w.ExportAll(ctx, w.Ada, favourite.Filter{Collection: shelf.ID}, favourite.FormatCSV, &out)
	if err != nil || !strings.Contains(out.String(), "In") || strings.Contains(out.String(), "Out") {
		t.Errorf("exported %s (%v)", out.String(), err)
	}
	renamed, err := w.RenameCollection(ctx, w.Ada, shelf.ID, "B")
	if err != nil || renamed.Name != "B" || renamed.Favourites != 1 {
		t.Errorf("renamed %+v, %v", renamed, err)
	}
	for _, id := range []string{theirs.ID, "col_none", ""} {
		if _, err := w.RenameCollection(ctx, w.Ada, id, "C"); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("renaming %q: %v", id, err)
		}
		if err := w.DeleteCollection(ctx, w.Ada, id); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("deleting %q: %v", id, err)
		}
	}
	if err := w.DeleteCollection(ctx, w.Ada, shelf.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.all(t, favourite.Filter{}); len(got) != 2 {
		t.Errorf("after deleting the collection: %v", got)
	}
	if list, err := w.Collections(ctx, w.Ada); err != nil || len(list) != 0 {
		t.Errorf("collections %v, %v", list, err)
	}
}

func TestKeyForOneAgentSeesOnlyItsFavourites(t *testing.T) {
	t.Parallel()
	w := newService(t)
	ctx := t.Context()
	w.save(t, `{"id":"x"}`)
	w.change(t, "x", favourite.Change{Tags: &[]string{"secret"}})
	limited := w.Ada
	limited.Agents = []string{"agt_other"}
	found, _, err := w.FindAll(ctx, limited, favourite.Filter{}, core.Page{})
	if err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	if tags, err := w.Tags(ctx, limited); err != nil || len(tags) != 0 {
		t.Errorf("tags %v, %v", tags, err)
	}
	limited.Agents = []string{w.Agent}
	if found, _, err = w.FindAll(ctx, limited, favourite.Filter{}, core.Page{}); err != nil || len(found) != 1 {
		t.Errorf("of its agent: %v, %v", found, err)
	}
	_, err = w.Change(ctx, limited, w.Agent, "x", favourite.Change{Collections: &[]string{}})
	for name, err := range map[string]error{
		"list":   errorOf(w.Collections(ctx, limited)),
		"create": errorOf(w.CreateCollection(ctx, limited, "A")),
		"rename": errorOf(w.RenameCollection(ctx, limited, "col_x", "A")),
		"delete": w.DeleteCollection(ctx, limited, "col_x"),
		"put":    err,
	} {
		if core.AsError(err).Code != "limited_to_agents" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

func TestExportHasTheAbstractOfTheDocument(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(t, `{"cardId":"a","title":"Stored","snippet":"… cut here …","abstract":"From the card."}`)
	w.save(t, `{"cardId":"b","title":"Deleted","snippet":"… cut there …"}`)
	w.documents.texts = map[string]string{"a": "The whole abstract of the document."}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"an agent": func(b *bytes.Buffer) error {
			return w.Export(t.Context(), w.Ada, w.Agent, favourite.Filter{}, favourite.FormatBibTeX, b)
		},
		"all agents": func(b *bytes.Buffer) error {
			return w.ExportAll(t.Context(), w.Ada, favourite.Filter{}, favourite.FormatRIS, b)
		},
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if !strings.Contains(got, "The whole abstract of the document.") || strings.Contains(got, "cut") ||
			strings.Contains(got, "From the card.") {
			t.Errorf("the export of %s is\n%s", name, got)
		}
	}
}

func TestSearchOfAllAgentsHoldsOnlyThePage(t *testing.T) {
	t.Parallel()
	w := newService(t)
	// Better matches come last, so that a page that is filled early is replaced.
	for i := range 30 {
		w.Clock.Advance(-time.Second)
		w.save(t, fmt.Sprintf(`{"id":"%02d","title":"%s","venue":"%s"}`, i, pick(i%2 == 0, "Relational"),
			pick(i > 10, "relational")))
	}
	all := w.all(t, favourite.Filter{Query: "relational"})
	if len(all) != 25 || all[0] != "12" || all[9] != "02" && !slices.Contains(all[:10], "14") {
		t.Errorf("found %v", all)
	}
	whole, next, err := w.FindAll(t.Context(), w.Ada, favourite.Filter{Query: "relational"}, core.Page{Limit: 200})
	if err != nil || next != "" || len(whole) != len(all) {
		t.Fatalf("%d in one page, next %q, %v", len(whole), next, err)
	}
	for i, f := range whole {
		if f.CardID != all[i] {
			t.Errorf("place %d is %s in one page and %s by pages of two", i, f.CardID, all[i])
		}
	}
}

func pick(is bool, s string) string {
	if is {
		return s
	}
	return "other"
}

func TestCursorOfALongCardIDIsAccepted(t *testing.T) {
	t.Parallel()
	w := newService(t)
	for _, id := range []string{"a", "b"} {
		w.save(t, `{"id":"`+id+strings.Repeat("😀", 199)+`","title":"T"}`)
	}
	for _, q := range []string{"", "t"} {
		if got := w.all(t, favourite.Filter{Query: q}); len(got) != 2 {
			t.Errorf("q=%q: %v", q, got)
		}
		if got := w.walk(t, q, 1, func() {}); len(got) != 2 {
			t.Errorf("q=%q by one: %v", q, got)
		}
	}
}

func TestLookupFindsSavedCards(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(t, `{"id":"a"}`)
	got, err := w.Lookup(t.Context(), w.Ada, w.Agent, []string{"a", "b", "", "\x00", ".."})
	if err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("found %v, %v", got, err)
	}
	if got, err := w.Lookup(t.Context(), w.Ada, w.SecondAgent, []string{"a"}); err != nil || len(got) != 0 {
		t.Errorf("with another agent: %v, %v", got, err)
	}
	if _, err := w.Lookup(t.Context(), w.Bob, w.Agent, []string{"a"}); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("by another user: %v", err)
	}
	for _, ids := range [][]string{nil, slices.Repeat([]string{"a"}, 201)} {
		if _, err := w.Lookup(t.Context(), w.Ada, w.Agent, ids); pointers(err) != "/cardIds" {
			t.Errorf("%d ids: %v", len(ids), err)
		}
	}
}

func TestSelectedFavouritesAreExported(t *testing.T) {
	t.Parallel()
	w := newService(t)
	for _, id := range []string{"a", "b", "c"} {
		w.save(t, `{"id":"`+id+`","title":"Work `+id+`"}`)
	}
	if _, err := w.Save(t.Context(), w.Ada, w.SecondAgent, []byte(`{"id":"a","title":"Elsewhere"}`), ""); err != nil {
		t.Fatal(err)
	}
	titles := func(actor core.Actor, refs ...favourite.Ref) string {
		t.Helper()
		var out bytes.Buffer
		if err := w.ExportSelected(t.Context(), actor, refs, favourite.FormatCSV, &out); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, title := range []string{"Work a", "Work b", "Work c", "Elsewhere"} {
			if strings.Contains(out.String(), title) {
				found = append(found, title)
			}
		}
		return strings.Join(found, ", ")
	}
	a, b := favourite.Ref{AgentID: w.Agent, CardID: "a"}, favourite.Ref{AgentID: w.Agent, CardID: "b"}
	other := favourite.Ref{AgentID: w.SecondAgent, CardID: "a"}
	if got := titles(w.Ada, a, b, favourite.Ref{AgentID: w.SecondAgent, CardID: "b"}); got != "Work a, Work b" {
		t.Errorf("exported %s", got)
	}
	if got := titles(w.Ada, other); got != "Elsewhere" {
		t.Errorf("of the second agent: %s", got)
	}
	limited := w.Ada
	limited.Agents = []string{w.Agent}
	if got := titles(limited, a, other); got != "Work a" {
		t.Errorf("with a limited credential: %s", got)
	}
	if got := titles(w.Bob, a); got != "" {
		t.Errorf("by another user: %s", got)
	}
	for name, refs := range map[string][]favourite.Ref{
		"none": {}, "too many": slices.Repeat([]favourite.Ref{a}, 1001), "a NUL": {{AgentID: w.Agent, CardID: "\x00"}},
	} {
		err := w.ExportSelected(t.Context(), w.Ada, refs, favourite.FormatCSV, new(bytes.Buffer))
		if !strings.HasPrefix(pointers(err), "/favourites") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExportContainsTheFavouritesThatAListFinds(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(t, `{"id":"a","title":"Relational model"}`)
	w.save(t, `{"id":"b","title":"Computing machinery"}`)
	var out bytes.Buffer
	f := favourite.Filter{Query: "machin"}
	if err := w.ExportAll(t.Context(), w.Ada, f, favourite.FormatCSV, &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "Relational") || !strings.Contains(got, "Computing") {
		t.Errorf("exported %s", got)
	}
	err := w.Export(t.Context(), w.Ada, w.Agent, favourite.Filter{Query: "\x00"}, favourite.FormatCSV, &out)
	if pointers(err) != "q" {
		t.Errorf("a NUL in q: %v", err)
	}
}
