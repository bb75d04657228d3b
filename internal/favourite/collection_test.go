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
	want := []favourite.Tag{{Name: "b", Count: 1}, {Name: "TO READ", Count: 2}, {Name: "ähnlich", Count: 1}}
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
