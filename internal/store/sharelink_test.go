package store_test

import (
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/sharelink"
	"carrel/internal/thread"
)

var linkTests = []test{
	{"LinkEndsWithItsThread", func(w *fixture) {
		t := thread.Thread{
			ID: core.NewID(core.PrefixThread), AgentID: w.ada.agent, Title: "A talk", Status: thread.StatusIdle,
			CreatedAt: w.now, UpdatedAt: w.now,
		}
		w.must(errorOf(w.db.InsertThread(w.ctx, w.ada.id, t)))
		link := func(hash string, expires *time.Time) sharelink.Link {
			l := sharelink.Link{
				ID: core.NewID(core.PrefixLink), UserID: w.ada.id, ThreadID: t.ID, Messages: []string{"msg_1"}, CreatedAt: w.now,
				ExpiresAt: expires,
			}
			w.must(w.db.InsertLink(w.ctx, l, []byte(hash), 2))
			return l
		}
		end := w.now.Add(time.Hour)
		first, second := link("one", &end), link("two", nil)
		third := first
		third.ID = core.NewID(core.PrefixLink)
		if err := w.db.InsertLink(w.ctx, third, []byte("three"), 2); !core.IsKind(err, core.KindConflict) {
			w.t.Errorf("a third link: %v", err)
		}
		w.must(w.db.InsertLink(w.ctx, first, []byte("other"), 2)) // a retry replaces the hash
		third.UserID = w.bert.id
		w.wantMissing(w.db.InsertLink(w.ctx, third, []byte("three"), 9), "thread")
		_, err := w.db.LinkByHash(w.ctx, []byte("one"))
		w.wantMissing(err, "link")
		found, err := w.db.LinkByHash(w.ctx, []byte("other"))
		w.must(err)
		if found.ID != first.ID || found.AgentID != w.ada.agent || found.Title != "A talk" || !found.ExpiresAt.Equal(end) ||
			!slices.Equal(found.Messages, []string{"msg_1"}) {
			w.t.Errorf("found %+v", found)
		}
		for before, want := range map[string]string{"": second.ID, second.ID: first.ID} {
			page, err := w.db.Links(w.ctx, w.ada.id, before, 1)
			w.must(err)
			if len(page) != 1 || page[0].ID != want {
				w.t.Errorf("after %q: %+v", before, page)
			}
		}
		of, err := w.db.ThreadLinks(w.ctx, w.bert.id, t.ID)
		w.must(err)
		if len(of) != 0 {
			w.t.Errorf("another user sees %+v", of)
		}
		w.must(w.db.PruneLinks(w.ctx, end.Add(time.Second)))
		w.wantMissing(w.db.DeleteLink(w.ctx, w.ada.id, first.ID), "link")
		w.wantMissing(w.db.DeleteLink(w.ctx, w.bert.id, second.ID), "link")
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, t.ID, w.now))
		_, err = w.db.LinkByHash(w.ctx, []byte("two"))
		w.wantMissing(err, "link")
	}},
}
