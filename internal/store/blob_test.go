package store_test

import (
	"slices"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/source"
	"carrel/internal/testkit"
)

// hashOf returns the form of a SHA-256 in hex.
func hashOf(digit string) string { return strings.Repeat(digit, 64) }

// claimBlobs returns the unused files as of a time.
func (w *fixture) claimBlobs(at time.Time) []string {
	w.t.Helper()
	claimed, err := w.db.ClaimBlobs(w.ctx, at.Add(-time.Hour), at.Add(-time.Minute), at, 10)
	w.must(err)
	return claimed
}

func (w *fixture) useBlob(hash string, at time.Time) bool {
	w.t.Helper()
	ok, err := w.db.UseBlob(w.ctx, hash, 100, at)
	w.must(err)
	return ok
}

// withOriginal returns a document with a stored file.
func (w *fixture) withOriginal(externalID, hash string) source.Document {
	d := w.doc(externalID, "text")
	d.Original = source.Original{Hash: hash, Name: "a.pdf", Size: 100}
	return d
}

var blobTests = []test{
	{"ABlobIsClaimedWhenNoDocumentRefersToIt", func(w *fixture) {
		later := w.now.Add(2 * time.Hour)
		w.same("used", []bool{w.useBlob(hashOf("a"), w.now), w.useBlob(hashOf("b"), w.now)}, []bool{true, true})
		w.same("within the grace period", len(w.claimBlobs(w.now.Add(time.Minute))), 0)
		one, two := w.withOriginal("1", hashOf("a")), w.withOriginal("2", hashOf("a"))
		w.put(w.ada.source, 2, 0, one, two)
		one.SourceID, two.SourceID = w.ada.source, w.ada.source
		w.same("stored", w.scan(w.ada.source), []source.Document{one, two})
		w.same("unused", w.claimBlobs(later), []string{hashOf("b")})
		w.same("a claimed file", w.useBlob(hashOf("b"), later), false)
		w.same("claimed again", len(w.claimBlobs(later)), 0)
		w.must(w.db.DropBlob(w.ctx, hashOf("b")))
		w.same("after its deletion", w.useBlob(hashOf("b"), later), true)

		_, err := w.db.DeleteDocuments(w.ctx, w.ada.source, []string{"1"}, w.now)
		w.must(err)
		w.same("referred to by another", len(w.claimBlobs(w.now)), 0)
		_, err = w.db.DeleteDocuments(w.ctx, w.ada.source, []string{"2"}, w.now)
		w.must(err)
		w.same("without a grace period", w.claimBlobs(w.now), []string{hashOf("a")})
		w.must(w.db.DropBlob(w.ctx, hashOf("a")))
	}},
	{"TheClaimOfACrashedNodeEnds", func(w *fixture) {
		w.useBlob(hashOf("c"), w.now.Add(-2*time.Hour))
		w.same("claimed", w.claimBlobs(w.now), []string{hashOf("c")})
		w.same("claimed by another node", len(w.claimBlobs(w.now.Add(30*time.Second))), 0)
		w.same("after the claim", w.claimBlobs(w.now.Add(2*time.Minute)), []string{hashOf("c")})
	}},
	{"ADocumentCannotReferToAClaimedOrUnknownBlob", func(w *fixture) {
		_, _, err := w.db.PutDocuments(w.ctx, w.ada.source, []source.Document{w.withOriginal("1", hashOf("e"))})
		w.wantKind(err, core.KindConflict, "")
		w.useBlob(hashOf("d"), w.now.Add(-2*time.Hour))
		w.claimBlobs(w.now)
		_, _, err = w.db.PutDocuments(w.ctx, w.ada.source, []source.Document{w.withOriginal("1", hashOf("d"))})
		w.wantKind(err, core.KindConflict, "")
		w.same("documents", w.documents(w.ada), 0)
	}},
	{"OriginalsCountAsStorage", func(w *fixture) {
		before, err := w.db.StorageOf(w.ctx, w.ada.id)
		w.must(err)
		w.useBlob(hashOf("f"), w.now)
		d := w.withOriginal("1", hashOf("f"))
		w.put(w.ada.source, 1, 0, d)
		after, err := w.db.StorageOf(w.ctx, w.ada.id)
		w.must(err)
		w.same("used", after.Used-before.Used, int64(len(d.Title)+len(d.Text)+100))
		d.Original, d.Hash = source.Original{}, []byte("x")
		w.put(w.ada.source, 0, 1, d)
		_, err = w.db.DeleteDocuments(w.ctx, w.ada.source, []string{"1"}, w.now)
		w.must(err)
		after, err = w.db.StorageOf(w.ctx, w.ada.id)
		w.must(err)
		w.same("used afterwards", after.Used, before.Used)
	}},
	{"ImportsAndSweepsOfTheSameFileDoNotLoseIt", func(w *fixture) {
		// Each caller stores and deletes a document of the same file, or claims it. Whatever the order, a document
		// that was stored refers to a file that is not claimed.
		testkit.Concurrently(8, func(n int) {
			id := string(rune('a' + n))
			for range 10 {
				if n%4 == 0 {
					for _, hash := range w.claimBlobs(w.now) {
						w.must(w.db.DropBlob(w.ctx, hash))
					}
					continue
				}
				if ok, err := w.db.UseBlob(w.ctx, hashOf("1"), 100, w.now); err != nil || !ok {
					w.must(err)
					continue
				}
				_, _, err := w.db.PutDocuments(w.ctx, w.ada.source, []source.Document{w.withOriginal(id, hashOf("1"))})
				if err != nil {
					w.wantKind(err, core.KindConflict, "")
					continue
				}
				for _, d := range w.scan(w.ada.source) {
					if d.ExternalID == id && slices.Contains(w.claimBlobs(w.now), hashOf("1")) {
						w.t.Error("the file of a document was claimed")
					}
				}
				_, err = w.db.DeleteDocuments(w.ctx, w.ada.source, []string{id}, w.now)
				w.must(err)
			}
		})
	}},
}
