package store_test

import (
	"strings"
	"time"

	"carrel/internal/bin"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/sharelink"
	"carrel/internal/source"
	"carrel/internal/thread"
)

// binned returns the items in the bin of a person with their first agent.
func (w *fixture) binned(p person, kind bin.Kind) []bin.Item {
	w.t.Helper()
	items, err := w.db.BinItems(w.ctx, p.id, p.agent, kind, "", 100)
	w.must(err)
	return items
}

// onlyBinned returns the only item of Ada's bin.
func (w *fixture) onlyBinned() bin.Item {
	w.t.Helper()
	items := w.binned(w.ada, "")
	if len(items) != 1 {
		w.t.Fatalf("the bin has %+v", items)
	}
	return items[0]
}

// link returns an unsaved link of Ada to a thread, and the hash of its token.
func (w *fixture) link(threadID string) (sharelink.Link, []byte) {
	id := core.NewID(core.PrefixLink)
	return sharelink.Link{ID: id, UserID: w.ada.id, ThreadID: threadID, CreatedAt: w.now}, []byte(id)
}

func (w *fixture) restore(id string) {
	w.t.Helper()
	w.must(w.db.RestoreBinItem(w.ctx, w.ada.id, w.ada.agent, id, w.now.Add(time.Hour)))
	if items := w.binned(w.ada, ""); len(items) != 0 {
		w.t.Errorf("the bin still has %+v", items)
	}
	w.wantMissing(w.db.RestoreBinItem(w.ctx, w.ada.id, w.ada.agent, id, w.now), "item in the bin")
}

var binTests = []test{
	{"TheBinIsListedByKindLatestFirst", func(w *fixture) {
		th, m := w.thread(w.ada, "Origins", w.now), w.remember(w.ada, strings.Repeat("ü\n", 300))
		w.save(w.ada, w.card("x", 0))
		d := w.doc("d", "text")
		w.put(w.ada.source, 1, 0, d)
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID, w.now))
		w.must(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, w.now))
		w.must(w.db.DeleteFavourite(w.ctx, w.ada.id, w.ada.agent, "x", w.now))
		_, err := w.db.DeleteDocumentsByID(w.ctx, w.ada.id, w.ada.source, []string{d.ID}, w.now)
		w.must(err)
		items := w.binned(w.ada, "")
		var got []string
		for _, i := range items {
			got = append(got, string(i.Kind)+" "+i.ItemID)
			w.same("deleted at", i.DeletedAt, w.now)
			one, err := w.db.BinItem(w.ctx, w.ada.id, w.ada.agent, i.ID)
			w.must(err)
			w.same("one", one, i)
			w.same("of the kind", w.binned(w.ada, i.Kind), []bin.Item{i})
		}
		w.same("items", got, []string{"document " + d.ID, "favourite x", "memory " + m.ID, "thread " + th.ID})
		w.same("title of the document", items[0].Title, "On d")
		w.same("title of the memory", items[2].Title, strings.Repeat("ü ", 100))
		w.same("title of the thread", items[3].Title, "Origins")
		page, err := w.db.BinItems(w.ctx, w.ada.id, w.ada.agent, "", items[1].ID, 1)
		w.must(err)
		w.same("a page", page, items[2:3])
		for _, who := range [][2]string{{w.bert.id, w.ada.agent}, {w.ada.id, w.ada.second}} {
			none, err := w.db.BinItems(w.ctx, who[0], who[1], "", "", 10)
			w.must(err)
			w.same("of another user or agent", len(none), 0)
			for _, i := range items {
				_, err := w.db.BinItem(w.ctx, who[0], who[1], i.ID)
				w.wantMissing(err, "item in the bin")
				_, err = w.db.BinContent(w.ctx, who[0], who[1], i.ID)
				w.wantMissing(err, "item in the bin")
				w.wantMissing(w.db.RestoreBinItem(w.ctx, who[0], who[1], i.ID, w.now), "item in the bin")
				w.wantMissing(w.db.DeleteBinItem(w.ctx, who[0], who[1], i.ID), "item in the bin")
			}
			w.must(w.db.EmptyBin(w.ctx, who[0], who[1], []bin.Kind{bin.KindThread, bin.KindDocument}))
		}
		for i, want := range []string{`"text":"text"`, `"card":`, `"origin":"user"`, `"messages":[]`} {
			content, err := w.db.BinContent(w.ctx, w.ada.id, w.ada.agent, items[i].ID)
			w.must(err)
			if !strings.Contains(string(content), want) {
				w.t.Errorf("the content of %s is %s", items[i].Kind, content)
			}
		}
		w.must(w.db.EmptyBin(w.ctx, w.ada.id, w.ada.agent, []bin.Kind{bin.KindMemory, bin.KindThread}))
		w.same("left", len(w.binned(w.ada, "")), 2)
		w.must(w.db.DeleteBinItem(w.ctx, w.ada.id, w.ada.agent, items[0].ID))
		w.wantMissing(w.db.DeleteBinItem(w.ctx, w.ada.id, w.ada.agent, items[0].ID), "item in the bin")
		w.same("left", len(w.binned(w.ada, "")), 1)
	}},
	{"AThreadInTheBinIsHiddenUntilItIsRestored", func(w *fixture) {
		th := w.thread(w.ada, "Origins", w.now)
		w.turn(w.ada, th.ID, "hello codd")
		_, err := w.db.ChangeThread(w.ctx, w.ada.id, w.ada.agent, th.ID, thread.Change{Tags: &[]string{"old"}}, w.now)
		w.must(err)
		f := w.card("x", 0)
		f.ThreadID = th.ID
		w.save(w.ada, f)
		l, hash := w.link(th.ID)
		w.must(w.db.InsertLink(w.ctx, l, hash, 9))
		before, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID, w.now))

		_, err = w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.wantMissing(err, "thread")
		lists := func() []int {
			one, err := w.db.Threads(w.ctx, w.ada.id, w.ada.agent, thread.Filter{Words: []string{"codd"}}, nil, 10)
			w.must(err)
			all, err := w.db.AllThreads(w.ctx, w.ada.id, nil, thread.Filter{}, nil, 10)
			w.must(err)
			tags, err := w.db.ThreadTags(w.ctx, w.ada.id, nil)
			w.must(err)
			links, err := w.db.Links(w.ctx, w.ada.id, "", 10)
			w.must(err)
			of, err := w.db.ThreadLinks(w.ctx, w.ada.id, th.ID)
			w.must(err)
			return []int{len(one), len(all), len(tags), len(links), len(of)}
		}
		w.same("lists", lists(), []int{0, 0, 0, 0, 0})
		_, err = w.db.LinkByHash(w.ctx, hash)
		w.wantMissing(err, "link")
		title := "New"
		_, err = w.db.ChangeThread(w.ctx, w.ada.id, w.ada.agent, th.ID, thread.Change{Title: &title}, w.now)
		w.wantMissing(err, "thread")
		another, otherHash := w.link(th.ID)
		w.wantMissing(w.db.InsertLink(w.ctx, another, otherHash, 9), "thread")
		w.wantMissing(errorOf(w.db.InsertThread(w.ctx, w.ada.id, th)), "thread")
		q, r := w.exchange(th.ID, "again", 5)
		w.wantMissing(w.append(w.ada.id, w.ada.agent, th.ID, "", q, r), "thread")
		saved, err := w.db.SaveFavourite(w.ctx, w.ada.id, w.ada.agent, f)
		w.must(err)
		w.same("the thread of a favourite", saved.ThreadID, "")

		w.restore(w.onlyBinned().ID)
		after, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.same("restored", after, before)
		w.same("lists", lists(), []int{1, 1, 1, 1, 1})
		w.same("messages", len(w.messages(th.ID)), 2)
		w.must(w.append(w.ada.id, w.ada.agent, th.ID, "", q, r))
	}},
	{"ADeletedMemoryIsRestored", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		m := w.newMemory(w.ada.agent, "I read Codd.")
		m.ThreadID, m.Pinned = th.ID, true
		m, err := w.db.InsertMemory(w.ctx, w.ada.id, m, "i read codd.")
		w.must(err)
		proposed := w.propose("Proposed.")
		for _, want := range []memory.Memory{m, proposed} {
			w.must(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, want.ID, w.now))
			w.same("title", w.onlyBinned().Title, want.Text)
			w.restore(w.onlyBinned().ID)
			got, err := w.db.Memory(w.ctx, w.ada.id, w.ada.agent, want.ID)
			w.must(err)
			want.UpdatedAt = w.now.Add(time.Hour)
			w.same("restored", got, want)
		}
		// The same text was remembered meanwhile.
		w.must(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, w.now))
		again, err := w.db.InsertMemory(w.ctx, w.ada.id, w.newMemory(w.ada.agent, m.Text), "i read codd.")
		w.must(err)
		w.restore(w.onlyBinned().ID)
		w.same("ids", w.memoryIDs(w.ada, 10, nil), []string{again.ID})
		// The hash that prevents a proposal stays when the item is deleted for good.
		w.must(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, again.ID, w.now))
		w.must(w.db.DeleteBinItem(w.ctx, w.ada.id, w.ada.agent, w.onlyBinned().ID))
		w.must(w.db.ProposeMemory(w.ctx, w.ada.id, w.proposal(m.Text), "i read codd."))
		w.same("proposals", len(w.proposals()), 1)
	}},
	{"ADeletedFavouriteIsRestored", func(w *fixture) {
		c := w.collection(w.ada, "Reading")
		f := w.card("x", 0)
		f.Card = []byte(`{"title": " On\nX "}`)
		w.save(w.ada, f)
		note := "A note."
		want, err := w.db.ChangeFavourite(w.ctx, w.ada.id, w.ada.agent, "x",
			favourite.Change{Tags: &[]string{"a"}, Note: &note, Collections: &[]string{c.ID}}, w.now)
		w.must(err)
		w.must(w.db.DeleteFavourite(w.ctx, w.ada.id, w.ada.agent, "x", w.now))
		w.same("title", w.onlyBinned().Title, "On X")
		w.restore(w.onlyBinned().ID)
		list, err := w.favourites(w.ada.id, w.ada.agent)
		w.must(err)
		w.same("restored", list, []favourite.Favourite{want})
		// The card was saved meanwhile.
		w.must(w.db.DeleteFavourite(w.ctx, w.ada.id, w.ada.agent, "x", w.now))
		saved := w.save(w.ada, w.card("x", 9))
		w.restore(w.onlyBinned().ID)
		list, err = w.favourites(w.ada.id, w.ada.agent)
		w.must(err)
		w.same("kept", list, []favourite.Favourite{saved})
	}},
	{"ADeletedDocumentIsRestoredWithItsFiles", func(w *fixture) {
		later := w.now.Add(48 * time.Hour)
		w.useBlob(hashOf("e"), w.now)
		file := w.file(w.ada.source, "bin.pdf")
		d := w.withOriginal("1", hashOf("e"))
		d.File, d.Authors, d.Year, d.Tags, d.Language = file.ID, []string{"Codd"}, 1970, []string{"t"}, "en"
		other := w.doc("2", "text")
		other.File = file.ID
		w.put(w.ada.source, 2, 0, d, other)
		stored, err := w.db.StorageOf(w.ctx, w.ada.id)
		w.must(err)
		venue := "CACM"
		want, err := w.db.EditDocument(w.ctx, w.ada.source, d.ID, source.Edits{Venue: &venue}, w.now)
		w.must(err)
		head := w.head()
		deleted, err := w.db.DeleteDocumentsByID(w.ctx, w.ada.id, w.ada.source, []string{d.ID, other.ID}, w.now)
		w.must(err)
		w.same("deleted", len(deleted), 2)
		_, err = w.db.FileByName(w.ctx, w.ada.source, file.Name)
		w.wantMissing(err, "file")
		w.wantStored("in the bin", stored.Used)
		w.same("claimed originals", len(w.claimBlobs(later)), 0)
		items := w.binned(w.ada, bin.KindDocument)
		w.same("items", len(items), 2)
		for _, i := range items {
			w.must(w.db.RestoreBinItem(w.ctx, w.ada.id, w.ada.agent, i.ID, w.now))
		}
		got, err := w.db.Document(w.ctx, w.ada.id, w.ada.agent, d.ID)
		w.must(err)
		w.same("restored", got, want)
		w.wantStored("after the restoration", stored.Used)
		w.same("documents", w.documents(w.ada), 2)
		again, err := w.db.FileByName(w.ctx, w.ada.source, file.Name)
		w.must(err)
		w.same("file", []any{again.Name, again.Size, again.Documents, len(again.Hash)}, []any{file.Name, file.Size, 2, 0})
		w.same("changes", len(w.summary(head)), 2)
		for _, c := range w.summary(head) {
			if !strings.HasPrefix(c, "put") {
				w.t.Errorf("logged %s", c)
			}
		}

		_, err = w.db.DeleteDocumentsByID(w.ctx, w.ada.id, w.ada.source, []string{d.ID}, w.now)
		w.must(err)
		w.put(w.ada.source, 1, 0, w.doc("1", "uploaded again"))
		id := w.onlyBinned().ID
		w.wantKind(w.db.RestoreBinItem(w.ctx, w.ada.id, w.ada.agent, id, w.now), core.KindConflict,
			"The source has another document with the same external id. Delete that one first.")
		w.same("kept in the bin", w.onlyBinned().ID, id)
		w.must(w.db.DeleteBinItem(w.ctx, w.ada.id, w.ada.agent, id))
		w.same("claimed originals", w.claimBlobs(later), []string{hashOf("e")})
		w.must(w.db.DropBlob(w.ctx, hashOf("e")))
	}},
	{"DocumentsLeaveTheBinWithTheirSource", func(w *fixture) {
		other := w.newSource(w.ada.agent, "Other", false)
		w.must(w.db.InsertSource(w.ctx, w.ada.id, other))
		d := w.doc("1", "text")
		w.put(other.ID, 1, 0, d)
		_, err := w.db.DeleteDocumentsByID(w.ctx, w.ada.id, other.ID, []string{d.ID}, w.now)
		w.must(err)
		w.same("items", len(w.binned(w.ada, "")), 1)
		w.must(w.db.DeleteSource(w.ctx, w.ada.agent, other.ID, ""))
		w.same("items", len(w.binned(w.ada, "")), 0)
	}},
	{"ExpiredItemsAreDeletedInBatches", func(w *fixture) {
		w.must(w.db.PruneBin(w.ctx, w.now.Add(-time.Hour)))
		old, kept := w.thread(w.ada, "old", w.now), w.thread(w.ada, "kept", w.now)
		w.turn(w.ada, old.ID, "hello")
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, old.ID, w.now.Add(-time.Hour)))
		var ids []string
		for range 120 {
			ids = append(ids, w.remember(w.ada, core.NewID("x")).ID)
		}
		_, err := w.db.DeleteMemories(w.ctx, w.ada.id, w.ada.agent, ids, w.now.Add(-time.Hour))
		w.must(err)
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, kept.ID, w.now))
		w.must(w.db.PruneBin(w.ctx, w.now.Add(-time.Hour)))
		w.same("left", w.onlyBinned().ItemID, kept.ID)
		w.same("messages of the expired thread", len(w.messages(old.ID)), 0)
		w.must(w.db.PruneBin(w.ctx, w.now))
		w.same("left", len(w.binned(w.ada, "")), 0)
	}},
	{"AnItemIsRestoredOnce", func(w *fixture) {
		w.save(w.ada, w.card("x", 0))
		w.must(w.db.DeleteFavourite(w.ctx, w.ada.id, w.ada.agent, "x", w.now))
		id := w.onlyBinned().ID
		w.exactlyOne("restore", func() error {
			return w.db.RestoreBinItem(w.ctx, w.ada.id, w.ada.agent, id, w.now)
		})
	}},
}
