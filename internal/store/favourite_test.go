package store_test

import (
	"encoding/json"
	"fmt"
	"strconv"

	"carrel/internal/favourite"
	"carrel/internal/testkit"
)

func (w *fixture) card(id string, ms int) favourite.Favourite {
	return favourite.Favourite{
		CardID: id, Card: json.RawMessage(`{"id":"` + id + `"}`), CreatedAt: w.after(ms),
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
	ids := []string{}
	for after := (*favourite.Key)(nil); ; {
		page, err := w.db.Favourites(w.ctx, p.id, p.agent, after, size)
		w.must(err)
		for _, f := range page {
			ids = append(ids, f.CardID)
			after = &favourite.Key{CreatedAt: f.CreatedAt, CardID: f.CardID}
		}
		if size < 0 || len(page) < size {
			return ids
		}
		if between != nil {
			between()
		}
	}
}

var favouriteTests = []test{
	{"CardRoundTrips", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		f := w.card("a/b c", 0)
		f.Card, f.ThreadID = json.RawMessage(`{"b": 1.50,  "a":"é\u00e9"}`), th.ID
		w.same("saved", w.save(w.ada, f), f)
		list, err := w.db.Favourites(w.ctx, w.ada.id, w.ada.agent, nil, -1)
		w.must(err)
		w.same("listed", list, []favourite.Favourite{f})
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID))
		f.ThreadID = ""
		list, err = w.db.Favourites(w.ctx, w.ada.id, w.ada.agent, nil, -1)
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
		list, err := w.db.Favourites(w.ctx, w.ada.id, w.ada.agent, nil, -1)
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
		w.same("favourites", len(w.cardIDs(w.ada, -1, nil)), 10)
	}},
	{"FavouritesArePagedNewestFirstWhileOthersInsert", func(w *fixture) {
		// Pairs have the same time, so that the card id decides the order.
		for _, id := range []string{"a1", "b1", "c2", "D2", "e3", "é3", "g4"} {
			w.save(w.ada, w.card(id, int(id[len(id)-1])))
		}
		want := []string{"g4", "é3", "e3", "c2", "D2", "b1", "a1"} // in byte order
		w.same("all", w.cardIDs(w.ada, -1, nil), want)
		n := 100
		w.same("pages", w.cardIDs(w.ada, 2, func() { n++; w.save(w.ada, w.card(strconv.Itoa(n), n)) }), want)
	}},
	{"FavouriteIsHiddenFromOtherUsersAndAgents", func(w *fixture) {
		w.save(w.ada, w.card("x", 0))
		for _, who := range [][2]string{{w.bert.id, w.bert.agent}, {w.bert.id, w.ada.agent}, {w.ada.id, w.ada.second}} {
			w.wantMissing(w.db.DeleteFavourite(w.ctx, who[0], who[1], "x"), "favourite")
			list, err := w.db.Favourites(w.ctx, who[0], who[1], nil, -1)
			w.must(err)
			w.same("listed", list, []favourite.Favourite{})
		}
		_, err := w.db.SaveFavourite(w.ctx, w.bert.id, w.ada.agent, w.card("y", 0))
		w.wantMissing(err, "agent")
		_, err = w.db.SaveFavourite(w.ctx, w.ada.id, "agt_none", w.card("y", 0))
		w.wantMissing(err, "agent")
		w.must(w.db.DeleteFavourite(w.ctx, w.ada.id, w.ada.agent, "x"))
		w.wantMissing(w.db.DeleteFavourite(w.ctx, w.ada.id, w.ada.agent, "x"), "favourite")
	}},
}
