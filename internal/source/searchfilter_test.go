package source

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/search"
)

func TestSearchFilterMatchesEveryField(t *testing.T) {
	t.Parallel()
	d := Document{
		Type: "Article", Authors: []string{"Edgar F. Codd", "Jim Gray"}, Venue: "Communications of the ACM", Language: "en",
		Tags: []string{"Databases"}, Year: 1970,
	}
	yes, no := true, false
	for name, c := range map[string]struct {
		filter SearchFilter
		want   bool
	}{
		"nothing":           {SearchFilter{}, true},
		"type":              {SearchFilter{Types: []string{"book", "ARTICLE"}}, true},
		"part of a type":    {SearchFilter{Types: []string{"art"}}, false},
		"author":            {SearchFilter{Authors: []string{"codd"}}, true},
		"other author":      {SearchFilter{Authors: []string{"date"}}, false},
		"venue":             {SearchFilter{Venues: []string{"acm"}}, true},
		"language":          {SearchFilter{Languages: []string{"de", "EN"}}, true},
		"tag":               {SearchFilter{Tags: []string{" databases "}}, true},
		"part of a tag":     {SearchFilter{Tags: []string{"data"}}, false},
		"year":              {SearchFilter{HasYear: &yes}, true},
		"no year":           {SearchFilter{HasYear: &no}, false},
		"one of two fields": {SearchFilter{Authors: []string{"codd"}, Types: []string{"book"}}, false},
		"both fields":       {SearchFilter{Authors: []string{"codd"}, Types: []string{"article"}}, true},
	} {
		if err := c.filter.fold(); err != nil {
			t.Fatal(err)
		}
		if got := c.filter.matches(d); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if f := (SearchFilter{Types: []string{"x"}}); f.matches(Document{}) {
		t.Error("a document without a type matches a type")
	}
}

func TestSearchFilterIsLimited(t *testing.T) {
	t.Parallel()
	f := SearchFilter{Types: []string{"ok", " "}, Tags: make([]string, 21), Venues: []string{strings.Repeat("a", 201)}}
	var at []string
	for _, field := range core.AsError(f.fold()).Fields {
		at = append(at, field.Pointer)
	}
	if want := []string{"/filter/tags", "/filter/types/1", "/filter/venues/0"}; !slices.Equal(at, want) {
		t.Errorf("wrong are %v", at)
	}
}

func TestCardsAreSortedAndCounted(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Unix(int64(n)*86_400, 0) }
	cards := []Card{
		{Document: Document{ID: "a", Year: 1970, Type: "Article", Authors: []string{"Codd", "codd"}, CreatedAt: day(1)}},
		{Document: Document{ID: "b", Type: "article", Authors: []string{"Gray"}, CreatedAt: day(3)}},
		{Document: Document{ID: "c", Year: 1981, Type: "book", Authors: []string{"Codd"}, CreatedAt: day(2)}},
	}
	for order, want := range map[SearchOrder]string{OrderRelevance: "abc", OrderYear: "cab", OrderAdded: "bca"} {
		sorted := slices.Clone(cards)
		sortCards(sorted, order)
		got := ""
		for _, c := range sorted {
			got += c.ID
		}
		if got != want {
			t.Errorf("by %s: %s", order, got)
		}
	}
	if got := countCards(cards, "type").Values; !reflect.DeepEqual(got, []ValueCount{{"Article", 2}, {"book", 1}}) {
		t.Errorf("types: %v", got)
	}
	if got := countCards(cards, "author").Values; !reflect.DeepEqual(got, []ValueCount{{"Codd", 2}, {"Gray", 1}}) {
		t.Errorf("authors: %v", got)
	}
	if got := countCards(cards, "tag").Values; len(got) != 0 {
		t.Errorf("tags: %v", got)
	}
}

func TestSearchCursorBelongsToItsRequest(t *testing.T) {
	t.Parallel()
	r := SearchRequest{Query: search.Query{Text: "model", Limit: 10}, Order: OrderYear}
	r.Cursor = core.EncodeCursor(cursorList, r.key(), "20")
	if n, err := r.offset(); n != 20 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	more := r
	more.Limit = 50
	if n, err := more.offset(); n != 20 || err != nil {
		t.Errorf("with another limit: %d %v", n, err)
	}
	other := r
	other.Text = "models"
	for name, wrong := range map[string]SearchRequest{
		"another query": other, "no cursor": {Cursor: "x"},
		"beyond the window": {Cursor: core.EncodeCursor(cursorList, SearchRequest{}.key(), "1000")},
		"before the start":  {Cursor: core.EncodeCursor(cursorList, SearchRequest{}.key(), "-1")},
	} {
		if _, err := wrong.offset(); core.AsError(err).Fields[0].Pointer != "/cursor" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
