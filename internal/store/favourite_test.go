package store_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/testkit"
)

func (w *fixture) card(id string, ms int) favourite.Favourite {
	return favourite.Favourite{
		AgentID: w.ada.agent, CardID: id, Card: json.RawMessage(`{"id":"` + id + `"}`), CreatedAt: w.after(ms),
		UpdatedAt: w.after(ms),
	}
}

func (w *fixture) save(p person, f favourite.Favourite) favourite.Favourite {
	w.t.Helper()
	got, err := w.db.SaveFavourite(w.ctx, p.id, p.agent, f)
	w.must(err)
	return got
}

// cardIDs pages through the favourites of the person's first agent and calls between before each further page.
func (w *fixture) cardIDs(p person, size int, between func()) []string {
	w.t.Helper()
	return w.pages(favourite.Selection{UserID: p.id, Agents: []string{p.agent}}, size, between)
}

// pages returns the card ids of a selection, read by pages, and calls between before each further page.
func (w *fixture) pages(s favourite.Selection, size int, between func()) []string {
	w.t.Helper()
	ids := []string{}
	for after := (*favourite.Key)(nil); ; {
		page, err := w.db.Favourites(w.ctx, s, after, size)
		w.must(err)
		for _, f := range page {
			ids = append(ids, f.CardID)
			after = &favourite.Key{CreatedAt: f.CreatedAt, CardID: f.CardID, AgentID: f.AgentID}
		}
		if len(page) < size {
			return ids
		}
		if between != nil {
			between()
		}
	}
}

// favourites returns the favourites of a user with an agent, or with all if the agent is empty.
func (w *fixture) favourites(userID, agentID string) ([]favourite.Favourite, error) {
	s := favourite.Selection{UserID: userID}
	if agentID != "" {
		s.Agents = []string{agentID}
	}
	list := []favourite.Favourite{}
	err := w.db.EachFavourite(w.ctx, s, func(f favourite.Favourite) error {
		list = append(list, f)
		return nil
	})
	return list, err
}

var favouriteTests = []test{
	{"SeveralFavouritesAreDeleted", func(w *fixture) {
		for _, id := range []string{"a/b", "c", "d"} {
			w.save(w.ada, w.card(id, 0))
			w.save(w.bert, w.card(id, 0))
		}
		deleted, err := w.db.DeleteFavourites(w.ctx, w.ada.id, w.ada.agent, []string{"a/b", "none", "d"}, w.now)
		w.must(err)
		slices.Sort(deleted)
		w.same("deleted", deleted, []string{"a/b", "d"})
		w.same("left", w.cardIDs(w.ada, 10, nil), []string{"c"})
		w.same("left to others", len(w.cardIDs(w.bert, 10, nil)), 3)
	}},
	{"CardRoundTrips", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		f := w.card("a/b c", 0)
		f.Card, f.ThreadID = json.RawMessage(`{"b": 1.50,  "a":"é\u00e9"}`), th.ID
		w.same("saved", w.save(w.ada, f), f)
		list, err := w.favourites(w.ada.id, w.ada.agent)
		w.must(err)
		w.same("listed", list, []favourite.Favourite{f})
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID, w.now))
		f.ThreadID = ""
		list, err = w.favourites(w.ada.id, w.ada.agent)
		w.must(err)
		w.same("after its thread has gone", list, []favourite.Favourite{f})
	}},
	{"SavingAgainUpdatesAndKeepsTheCreationTime", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		first := w.card("x", 1)
		first.ThreadID = th.ID
		w.save(w.ada, first)
		second := w.card("x", 9)
		second.Card = json.RawMessage(`{"n":2}`)
		got := w.save(w.ada, second)
		second.CreatedAt, second.ThreadID = first.CreatedAt, th.ID
		w.same("saved", got, second)
		list, err := w.favourites(w.ada.id, w.ada.agent)
		w.must(err)
		w.same("listed", list, []favourite.Favourite{second})
	}},
	{"MissingThreadIsLeftOut", func(w *fixture) {
		gone, theirs := w.card("gone", 0), w.card("theirs", 0)
		gone.ThreadID, theirs.ThreadID = "thr_none", w.thread(w.bert, "", w.now).ID
		w.same("gone", w.save(w.ada, gone).ThreadID, "")
		w.same("another's", w.save(w.ada, theirs).ThreadID, "")
	}},
	{"ConcurrentSavesOfACardMakeOneFavourite", func(w *fixture) {
		for round := range 10 {
			testkit.Concurrently(16, func(i int) {
				if _, err := w.db.SaveFavourite(w.ctx, w.ada.id, w.ada.agent,
					w.card(fmt.Sprint("card", round), i)); err != nil {
					w.t.Error(err)
				}
			})
		}
		w.same("favourites", len(w.cardIDs(w.ada, 1000, nil)), 10)
	}},
	{"FavouritesArePagedNewestFirstWhileOthersInsert", func(w *fixture) {
		// Pairs have the same time, so that the card id decides the order.
		for _, id := range []string{"a1", "b1", "c2", "D2", "e3", "é3", "g4"} {
			w.save(w.ada, w.card(id, int(id[len(id)-1])))
		}
		want := []string{"g4", "é3", "e3", "c2", "D2", "b1", "a1"} // in byte order
		w.same("all", w.cardIDs(w.ada, 1000, nil), want)
		n := 100
		w.same("pages", w.cardIDs(w.ada, 2, func() { n++; w.save(w.ada, w.card(strconv.Itoa(n), n)) }), want)
	}},
	{"FavouriteIsHiddenFromOtherUsersAndAgents", func(w *fixture) {
		w.save(w.ada, w.card("x", 0))
		for _, who := range [][2]string{{w.bert.id, w.bert.agent}, {w.bert.id, w.ada.agent}, {w.ada.id, w.ada.second}} {
			w.wantMissing(w.db.DeleteFavourite(w.ctx, who[0], who[1], "x", w.now), "favourite")
			list, err := w.favourites(who[0], who[1])
			w.must(err)
			w.same("listed", list, []favourite.Favourite{})
		}
		_, err := w.db.SaveFavourite(w.ctx, w.bert.id, w.ada.agent, w.card("y", 0))
		w.wantMissing(err, "agent")
		_, err = w.db.SaveFavourite(w.ctx, w.ada.id, "agt_none", w.card("y", 0))
		w.wantMissing(err, "agent")
		w.must(w.db.DeleteFavourite(w.ctx, w.ada.id, w.ada.agent, "x", w.now))
		w.wantMissing(w.db.DeleteFavourite(w.ctx, w.ada.id, w.ada.agent, "x", w.now), "favourite")
	}},
	{"TagsNoteAndCollectionsRoundTrip", func(w *fixture) {
		w.save(w.ada, w.card("x", 0))
		one, two := w.collection(w.ada, "One"), w.collection(w.ada, "Two")
		theirs := w.collection(w.bert, "One")
		note := "é, \"quoted\""
		got, err := w.db.ChangeFavourite(w.ctx, w.ada.id, w.ada.agent, "x", favourite.Change{
			Tags: &[]string{"a,b", "ü"}, Note: &note, Collections: &[]string{two.ID, one.ID, theirs.ID, "col_none"},
		}, w.after(9))
		w.must(err)
		want := w.card("x", 0)
		want.Tags, want.Note, want.UpdatedAt = []string{"a,b", "ü"}, note, w.after(9)
		want.Collections = []string{one.ID, two.ID}
		w.same("changed", got, want)
		got, err = w.db.ChangeFavourite(w.ctx, w.ada.id, w.ada.agent, "x", favourite.Change{}, w.after(9))
		w.must(err)
		w.same("after an empty change", got, want)
		want.UpdatedAt = w.after(0)
		w.same("saved again", w.save(w.ada, w.card("x", 0)), want)
		w.must(w.db.DeleteCollection(w.ctx, w.ada.id, one.ID))
		want.Collections = []string{two.ID}
		list, err := w.favourites(w.ada.id, w.ada.agent)
		w.must(err)
		w.same("without the deleted collection", list, []favourite.Favourite{want})
		for _, who := range [][2]string{{w.bert.id, w.ada.agent}, {w.ada.id, w.ada.second}} {
			_, err = w.db.ChangeFavourite(w.ctx, who[0], who[1], "x", favourite.Change{Note: &note}, w.now)
			w.wantMissing(err, "favourite")
		}
	}},
	{"CollectionsCountFavouritesOfAllAgents", func(w *fixture) {
		c := w.collection(w.ada, "Both")
		w.collection(w.ada, "another")
		for _, agentID := range []string{w.ada.agent, w.ada.second} {
			_, err := w.db.SaveFavourite(w.ctx, w.ada.id, agentID, w.card("x", 0))
			w.must(err)
			_, err = w.db.ChangeFavourite(w.ctx, w.ada.id, agentID, "x", favourite.Change{Collections: &[]string{c.ID}}, w.now)
			w.must(err)
		}
		w.same("counts", w.collectionCounts(), []string{"another 0", "Both 2"})
		all, err := w.favourites(w.ada.id, "")
		w.must(err)
		w.same("all", len(all), 2)
		all, err = w.favourites(w.ada.id, w.ada.second)
		w.must(err)
		w.same("of one agent", []string{all[0].AgentID}, []string{w.ada.second})
		w.must(w.db.DeleteAgent(w.ctx, w.ada.id, w.ada.second))
		w.same("counts without the agent", w.collectionCounts(), []string{"another 0", "Both 1"})
	}},
	{"FavouritesOfAnAgentThatIsNoLongerSharedAreNotListed", func(w *fixture) {
		c := w.collection(w.ada, "Shared")
		w.must(w.db.ShareWithAll(w.ctx, w.bert.agent, core.GrantUser, w.now))
		_, err := w.db.SaveFavourite(w.ctx, w.ada.id, w.bert.agent, w.card("x", 0))
		w.must(err)
		put := favourite.Change{Collections: &[]string{c.ID}}
		_, err = w.db.ChangeFavourite(w.ctx, w.ada.id, w.bert.agent, "x", put, w.now)
		w.must(err)
		w.same("shared", w.collectionCounts(), []string{"Shared 1"})
		w.must(w.db.DeleteShareWithAll(w.ctx, w.bert.agent, w.now))
		w.same("not shared", w.collectionCounts(), []string{"Shared 0"})
		all, err := w.favourites(w.ada.id, "")
		w.must(err)
		w.same("all", all, []favourite.Favourite{})
	}},
	{"ImportedCardsAreAddedUpdatedOrUnchanged", func(w *fixture) {
		one, two := w.card("one", 0), w.card("two", 1)
		one.Tags, one.Note = []string{"t"}, "N"
		out, err := w.db.ImportFavourites(w.ctx, w.ada.id, w.ada.agent, []favourite.Favourite{one, two})
		w.must(err)
		w.same("first", out, []favourite.Outcome{favourite.OutcomeAdded, favourite.OutcomeAdded})
		again := w.card("two", 9)
		again.Card, again.Tags = json.RawMessage(`{"n":2}`), []string{"other"}
		out, err = w.db.ImportFavourites(w.ctx, w.ada.id, w.ada.agent, []favourite.Favourite{one, again})
		w.must(err)
		w.same("again", out, []favourite.Outcome{favourite.OutcomeUnchanged, favourite.OutcomeUpdated})
		again.CreatedAt, again.Tags = two.CreatedAt, nil
		list, err := w.favourites(w.ada.id, w.ada.agent)
		w.must(err)
		w.same("listed", list, []favourite.Favourite{again, one})
		_, err = w.db.ImportFavourites(w.ctx, w.bert.id, w.ada.agent, []favourite.Favourite{one})
		w.wantMissing(err, "agent")
	}},
	{"SelectionsArePagedAcrossAgents", func(w *fixture) {
		c := w.collection(w.ada, "Some")
		for i, id := range []string{"a", "b", "c", "d", "e", "f"} {
			for _, agentID := range []string{w.ada.agent, w.ada.second} {
				_, err := w.db.SaveFavourite(w.ctx, w.ada.id, agentID, w.card(id, i/2)) // pairs have the same time
				w.must(err)
			}
		}
		tag := func(agentID, id string, change favourite.Change) {
			_, err := w.db.ChangeFavourite(w.ctx, w.ada.id, agentID, id, change, w.now)
			w.must(err)
		}
		tag(w.ada.agent, "a", favourite.Change{Tags: &[]string{"x"}})
		tag(w.ada.second, "c", favourite.Change{Tags: &[]string{"X", "y"}, Collections: &[]string{c.ID}})
		tag(w.ada.second, "f", favourite.Change{Tags: &[]string{"xy"}, Collections: &[]string{c.ID}})
		both, one := []string{w.ada.agent, w.ada.second}, []string{w.ada.second}
		for name, k := range map[string]struct {
			s    favourite.Selection
			want string
		}{
			"all":             {favourite.Selection{}, "ffeeddccbbaa"},
			"two agents":      {favourite.Selection{Agents: both}, "ffeeddccbbaa"},
			"one agent":       {favourite.Selection{Agents: one}, "fedcba"},
			"cards":           {favourite.Selection{Cards: []string{"b", "e", "none"}}, "eebb"},
			"a tag":           {favourite.Selection{Tags: []string{"x"}}, "a"},
			"two spellings":   {favourite.Selection{Tags: []string{"x", "X"}}, "ca"},
			"no such tag":     {favourite.Selection{Tags: []string{"none"}}, ""},
			"a collection":    {favourite.Selection{Collection: c.ID}, "fc"},
			"everything":      {favourite.Selection{Agents: both, Tags: []string{"y"}, Collection: c.ID}, "c"},
			"another's":       {favourite.Selection{UserID: w.bert.id}, ""},
			"another's agent": {favourite.Selection{Agents: []string{w.bert.agent}}, ""},
		} {
			k.s.UserID = cmp.Or(k.s.UserID, w.ada.id)
			for _, size := range []int{1, 2, 5, 100} {
				w.same(fmt.Sprint(name, " by ", size), strings.Join(w.pages(k.s, size, nil), ""), k.want)
			}
		}
		tags, err := w.db.FavouriteTags(w.ctx, w.ada.id, nil)
		w.must(err)
		w.same("tags", tags, []core.Tag{
			{Name: "xy", Count: 1}, {Name: "X", Count: 1}, {Name: "y", Count: 1}, {Name: "x", Count: 1},
		})
		tags, err = w.db.FavouriteTags(w.ctx, w.ada.id, []string{w.ada.agent})
		w.must(err)
		w.same("tags of an agent", tags, []core.Tag{{Name: "x", Count: 1}})
	}},
	{"SavedCardsAreThoseOfTheUserAndTheAgent", func(w *fixture) {
		w.save(w.ada, w.card("x", 0))
		w.save(w.ada, w.card("é, \"y\"", 0))
		for who, want := range map[[2]string]int{
			{w.ada.id, w.ada.agent}: 2, {w.ada.id, w.ada.second}: 0, {w.bert.id, w.ada.agent}: 0,
		} {
			saved, err := w.db.SavedCards(w.ctx, who[0], who[1], []string{"x", "z", "é, \"y\""})
			w.must(err)
			w.same(fmt.Sprint("saved ", saved), len(saved), want)
		}
	}},
	{"EachFavouriteStopsAtAnError", func(w *fixture) {
		w.save(w.ada, w.card("a", 0))
		w.save(w.ada, w.card("b", 1))
		stop, n := errors.New("stop"), 0
		err := w.db.EachFavourite(w.ctx, favourite.Selection{UserID: w.ada.id}, func(favourite.Favourite) error {
			n++
			return stop
		})
		if n != 1 || !errors.Is(err, stop) {
			w.t.Errorf("%d calls, %v", n, err)
		}
	}},
	{"CollectionNamesAreUniquePerUser", func(w *fixture) {
		c := w.collection(w.ada, "Name")
		w.collection(w.bert, "Name")
		other := w.collection(w.ada, "Other")
		again, err := w.db.InsertCollection(w.ctx, w.ada.id, c, "name")
		w.must(err)
		w.same("repeated", again, c)
		again, err = w.db.InsertCollection(w.ctx, w.ada.id, favourite.Collection{ID: "col_x", Name: "NAME"}, "name")
		w.must(err)
		w.same("with the same name", again, c)
		_, err = w.db.RenameCollection(w.ctx, w.ada.id, other.ID, "NAME", "name", w.now)
		w.wantKind(err, core.KindConflict, "")
		renamed, err := w.db.RenameCollection(w.ctx, w.ada.id, c.ID, "NAME", "name", w.after(5))
		w.must(err)
		c.Name, c.UpdatedAt = "NAME", w.after(5)
		w.same("renamed", renamed, c)
		_, err = w.db.RenameCollection(w.ctx, w.ada.id, c.ID, "Third", "third", w.after(5))
		w.must(err)
		again, err = w.db.InsertCollection(w.ctx, w.ada.id, favourite.Collection{ID: c.ID, Name: "Name"}, "name")
		w.must(err)
		w.same("the id of a renamed collection", again.Name, "Third")
		_, err = w.db.RenameCollection(w.ctx, w.bert.id, c.ID, "Mine", "mine", w.now)
		w.wantMissing(err, "collection")
		w.wantMissing(w.db.DeleteCollection(w.ctx, w.bert.id, c.ID), "collection")
		w.must(w.db.DeleteCollection(w.ctx, w.ada.id, c.ID))
		w.wantMissing(w.db.DeleteCollection(w.ctx, w.ada.id, c.ID), "collection")
	}},
}

// collection creates a collection of a person.
func (w *fixture) collection(p person, name string) favourite.Collection {
	w.t.Helper()
	c, err := w.db.InsertCollection(w.ctx, p.id, favourite.Collection{
		ID: core.NewID(core.PrefixCollection), Name: name, CreatedAt: w.now, UpdatedAt: w.now,
	}, core.Fold(name))
	w.must(err)
	return c
}

// collectionCounts returns the names of the first person's collections with the numbers of their favourites.
func (w *fixture) collectionCounts() []string {
	w.t.Helper()
	list, err := w.db.Collections(w.ctx, w.ada.id)
	w.must(err)
	var out []string
	for _, c := range list {
		out = append(out, c.Name+" "+strconv.Itoa(c.Favourites))
	}
	return out
}
