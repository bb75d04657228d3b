package store

import (
	"strings"
	"testing"

	"carrel/internal/favourite"
)

// favouriteSelections are selections with every kind of filter.
func favouriteSelections() map[string]favourite.Selection {
	return map[string]favourite.Selection{
		"all":        {UserID: "u"},
		"agent":      {UserID: "u", Agents: []string{"a"}},
		"agents":     {UserID: "u", Agents: []string{"a", "b"}},
		"cards":      {UserID: "u", Cards: []string{"c"}},
		"tag":        {UserID: "u", Tags: []string{"t"}},
		"collection": {UserID: "u", Collection: "l"},
		"everything": {
			UserID: "u", Agents: []string{"a"}, Cards: []string{"c"}, Tags: []string{"t"}, Collection: "l",
		},
	}
}

// callFavouriteLists lists favourites with every kind of filter.
func callFavouriteLists(t *testing.T, db *DB) {
	t.Helper()
	must := failOn(t)
	for _, s := range favouriteSelections() {
		for _, after := range []*favourite.Key{nil, {CardID: "c", AgentID: "a"}} {
			_, err := db.Favourites(t.Context(), s, after, 10)
			must(err)
		}
		must(db.EachFavourite(t.Context(), s, func(favourite.Favourite) error { return nil }))
	}
	_, err := db.FavouriteTags(t.Context(), "u", nil)
	must(err)
	_, err = db.SavedCards(t.Context(), "u", "a", []string{"c"})
	must(err)
}

// TestPagesOfFavouritesAreReadInTheOrderOfAnIndex checks that a page costs its own rows: no list is sorted, and the
// tags are read without the cards.
func TestPagesOfFavouritesAreReadInTheOrderOfAnIndex(t *testing.T) {
	t.Parallel()
	db := open(t, backends(t)[0].options)
	plan := func(query string, a args) string {
		t.Helper()
		var id, parent, unused int
		var detail string
		var steps []string
		err := db.read.each(t.Context(), "EXPLAIN QUERY PLAN "+query, a, []any{&id, &parent, &unused, &detail},
			func() error {
				steps = append(steps, detail)
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(steps, "\n")
	}
	for name, s := range favouriteSelections() {
		if name == "cards" || name == "everything" {
			continue // by the primary key, and sorted: the ids bound the number of rows
		}
		where, a := db.selectFavourites(s)
		got := plan("SELECT "+favouriteColumns+" FROM favourite"+where+newestFirst+" LIMIT 10", a)
		if strings.Contains(got, "TEMP B-TREE") || !strings.Contains(got, "SEARCH favourite USING") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	where, a := db.selectFavourites(favourite.Selection{UserID: "u"})
	if got := plan("SELECT tags FROM favourite"+where+" AND tags <> '[]'"+newestFirst, a); !strings.Contains(got,
		"SEARCH favourite USING COVERING INDEX favourite_newest") {
		t.Errorf("tags:\n%s", got)
	}
}
