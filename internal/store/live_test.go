package store_test

import (
	"strconv"
	"time"

	"carrel/internal/core"
	"carrel/internal/source"
	"carrel/internal/testkit"
)

// week is the lifetime of results in these tests.
const week = 7 * 24 * time.Hour

// result returns a document like those found by a live source.
func (w *fixture) result(externalID, text string, at time.Time) source.Document {
	d, expires := w.doc(externalID, text), at.Add(week)
	d.CreatedAt, d.UpdatedAt, d.ExpiresAt = at, at, &expires
	return d
}

func (w *fixture) putLive(sourceID string, docs ...source.Document) []source.Document {
	w.t.Helper()
	stored, err := w.db.PutFederatedDocuments(w.ctx, sourceID, docs)
	w.must(err)
	return stored
}

// missing reports whether one of Ada's documents no longer exists.
func (w *fixture) missing(id string) bool {
	w.t.Helper()
	_, err := w.db.Document(w.ctx, w.ada.id, w.ada.agent, id)
	if err != nil {
		w.wantMissing(err, "document")
	}
	return err != nil
}

var liveTests = []test{
	{"AnswerIsCachedUntilItExpires", func(w *fixture) {
		key, other := []byte{0, 1}, []byte{0, 2}
		_, err := w.db.FederatedReply(w.ctx, key, w.now)
		w.wantMissing(err, "reply")
		w.must(w.db.PutFederatedReply(w.ctx, key, []byte("first"), w.after(10)))
		w.must(w.db.PutFederatedReply(w.ctx, other, []byte("other"), w.after(99)))
		w.must(w.db.PutFederatedReply(w.ctx, key, []byte("second"), w.after(20)))
		got, err := w.db.FederatedReply(w.ctx, key, w.after(19))
		w.must(err)
		w.same("answer", string(got), "second")
		_, err = w.db.FederatedReply(w.ctx, key, w.after(20))
		w.wantMissing(err, "reply")
		w.must(w.db.PruneFederated(w.ctx, w.after(20)))
		_, err = w.db.FederatedReply(w.ctx, key, w.now)
		w.wantMissing(err, "reply")
		_, err = w.db.FederatedReply(w.ctx, other, w.now)
		w.must(err)
	}},
	{"ExpiringDocumentIsNeitherCountedNorIndexed", func(w *fixture) {
		before := w.head()
		one, two := w.result("1", "one", w.now), w.result("2", "two", w.now)
		one.Authors, one.Year, one.CitationCount = []string{"Ada"}, 1970, new(int)
		one.SourceID, two.SourceID = w.ada.source, w.ada.source
		w.same("stored", w.putLive(w.ada.source, two, one), []source.Document{two, one})
		got, err := w.db.Document(w.ctx, w.ada.id, w.ada.agent, one.ID)
		w.must(err)
		w.same("read", got, one)
		_, err = w.db.SetSourceLanguage(w.ctx, w.ada.source, "de", false, w.now) // logs the documents again
		w.must(err)
		w.same("changes", w.summary(before), []string{})
		w.same("count", w.documents(w.ada), 0)
		_, err = w.db.PutFederatedDocuments(w.ctx, "src_none", []source.Document{w.result("x", "x", w.now)})
		w.wantMissing(err, "source")
	}},
	{"RepeatedResultKeepsItsIDAndIsExtended", func(w *fixture) {
		first := w.putLive(w.ada.source, w.result("1", "one", w.now))[0]
		again := w.putLive(w.ada.source, w.result("1", "one", w.now.Add(time.Hour)))[0]
		w.same("soon after", again, first)
		later := w.now.Add(week - time.Hour)
		again = w.putLive(w.ada.source, w.result("1", "one", later))[0]
		w.same("id", again.ID, first.ID)
		w.same("expires", *again.ExpiresAt, later.Add(week))
		again = w.putLive(w.ada.source, w.result("1", "changed", later))[0]
		w.same("id", again.ID, first.ID)
		w.same("text", again.Text, "changed")
	}},
	{"KeptDocumentIsNotChanged", func(w *fixture) {
		before := w.head()
		kept, left := w.result("1", "one", w.now), w.result("2", "two", w.now)
		w.putLive(w.ada.source, kept, left)
		w.must(w.db.KeepDocuments(w.ctx, w.bert.id, w.ada.agent, []string{kept.ID}, w.now))
		w.must(w.db.KeepDocuments(w.ctx, w.bert.id, w.bert.agent, []string{kept.ID}, w.now))
		w.same("kept by others", w.documents(w.ada), 0)
		for range 2 { // the second call changes nothing
			w.must(w.db.KeepDocuments(w.ctx, w.ada.id, w.ada.agent, []string{kept.ID, kept.ID, "doc_none"}, w.after(5)))
		}
		w.same("count", w.documents(w.ada), 1)
		w.same("changes", w.summary(before), []string{"put " + kept.ID})
		stored := w.putLive(w.ada.source, w.result("1", "other words", w.after(9)),
			w.result("2", "two again", w.after(9)))
		w.same("kept", stored[0].Text, "one")
		w.same("not kept", stored[1].Text, "two again")
		w.must(w.db.PruneFederated(w.ctx, w.now.Add(2*week)))
		w.same("gone", []bool{w.missing(kept.ID), w.missing(left.ID)}, []bool{false, true})
		w.same("count", w.documents(w.ada), 1)
		w.same("changes", w.summary(before), []string{"put " + kept.ID})
	}},
	{"OnlyExpiredDocumentsArePruned", func(w *fixture) {
		many := make([]source.Document, 1100) // more than one prune batch
		for i := range many {
			many[i] = w.result("old "+strconv.Itoa(i), "x", w.now)
		}
		w.putLive(w.ada.source, many...)
		fresh := w.result("fresh", "x", w.after(1))
		w.putLive(w.ada.source, fresh)
		w.put(w.ada.source, 1, 0, w.doc("stored", "x"))
		w.must(w.db.PruneFederated(w.ctx, w.now.Add(week)))
		w.same("left", len(w.scan(w.ada.source)), 2)
		w.same("fresh is gone", w.missing(fresh.ID), false)
	}},
	{"ConcurrentKeepsCountADocumentOnce", func(w *fixture) {
		const writers = 16
		docs := []source.Document{w.result("1", "one", w.now), w.result("2", "two", w.now)}
		testkit.Concurrently(writers, func(i int) {
			mine := []source.Document{w.result("1", "one", w.now), w.result("2", "two", w.now)}
			if i%2 == 1 { // in reverse order, which must not deadlock
				mine[0], mine[1] = mine[1], mine[0]
			}
			stored, err := w.db.PutFederatedDocuments(w.ctx, w.ada.source, mine)
			if err == nil {
				err = w.db.KeepDocuments(w.ctx, w.ada.id, w.ada.agent, []string{stored[0].ID, stored[1].ID}, w.now)
			}
			if err != nil {
				w.t.Error(err)
			}
		})
		w.same("count", w.documents(w.ada), len(docs))
		w.same("documents", len(w.scan(w.ada.source)), len(docs))
	}},
	{"LiveSourceIsDeletedWithItsDocuments", func(w *fixture) {
		other := w.newSource(w.ada.agent, "Live", false)
		other.Kind = "openalex"
		w.must(w.db.InsertSource(w.ctx, w.ada.id, other))
		d := w.putLive(other.ID, w.result("1", "one", w.now))[0]
		w.must(w.db.DeleteSource(w.ctx, w.ada.agent, other.ID, ""))
		w.same("gone", w.missing(d.ID), true)
		w.wantKind(w.db.DeleteSource(w.ctx, w.ada.agent, w.ada.source, ""), core.KindConflict, "")
	}},
}
