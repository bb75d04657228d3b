package store_test

import (
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/source"
)

// wantStored fails the test unless Ada's storage usage is that many bytes.
func (w *fixture) wantStored(when string, want int64) {
	w.t.Helper()
	got, err := w.db.StorageOf(w.ctx, w.ada.id)
	w.must(err)
	w.same("bytes "+when, got.Used, want)
	bySource, err := w.db.StorageOfSource(w.ctx, w.ada.source)
	w.must(err)
	w.same("bytes of the owner of the source "+when, bySource, got)
}

// roomFor gives Ada a plan with this storage limit; nil means no limit.
func (w *fixture) roomFor(bytes *int64) {
	w.t.Helper()
	p := w.plan(func(p *billing.Plan) { p.StorageLimit = bytes })
	w.must(w.db.SetPlan(w.ctx, w.ada.id, p.Name))
}

var storageTests = []test{
	{"DocumentSizesAreAlwaysCounted", func(w *fixture) {
		// A title is "On " and the id. Non-ASCII letters take more than one byte.
		a, b := w.doc("a", "12345"), w.doc("b", "äöü")
		w.put(w.ada.source, 2, 0, a, b)
		w.wantStored("after two came", 4+5+4+6)
		w.put(w.ada.source, 0, 0, a)
		w.put(w.ada.source, 0, 1, w.doc("a", "1"))
		w.wantStored("after one shrank", 4+1+4+6)
		w.put(w.ada.source, 1, 1, w.doc("c", "1"), w.doc("c", "123"))
		w.wantStored("after one came twice", 4+1+4+6+4+3)
		other := w.newSource(w.ada.agent, "Other", false)
		w.must(w.db.InsertSource(w.ctx, w.ada.id, other))
		w.put(other.ID, 1, 0, w.doc("a", "x"))
		w.put(w.bert.source, 1, 0, w.doc("a", "not hers"))
		w.wantStored("with another source", 4+1+4+6+4+3+5)
		_, err := w.db.DeleteDocuments(w.ctx, w.ada.source, []string{"b", "none"}, w.now)
		w.must(err)
		w.wantStored("after one was deleted", 4+1+4+3+5)
		w.must(w.db.DeleteSource(w.ctx, w.ada.agent, other.ID, ""))
		w.wantStored("after a source was deleted", 4+1+4+3)
	}},
	{"DeletingAFileFreesItsStorage", func(w *fixture) {
		d := w.doc("a", "12345")
		d.File = w.file(w.ada.source, "a.txt").ID
		w.put(w.ada.source, 2, 0, d, w.doc("b", "1"))
		_, err := w.db.DeleteFile(w.ctx, w.ada.source, d.File, w.now)
		w.must(err)
		w.wantStored("after the file was deleted", 4+1)
	}},
	{"UploadsCountAsStorage", func(w *fixture) {
		unknown := w.upload(w.ada.source, "unknown.txt")
		known := unknown
		known.ID, known.Name, known.Size = core.NewID("upl"), "known.txt", 100
		w.must(w.db.InsertUpload(w.ctx, known))
		w.wantStored("after one was announced", 100)
		w.must(w.db.AppendUpload(w.ctx, known.ID, 0, []byte("12345"), w.now))
		w.must(w.db.AppendUpload(w.ctx, unknown.ID, 0, []byte("123"), w.now))
		w.wantStored("with pieces of both", 103)
		w.must(w.db.DeleteUpload(w.ctx, w.ada.source, known.ID))
		w.wantStored("after one was deleted", 3)
	}},
	{"DocumentsAboveTheLimitAreNotStored", func(w *fixture) {
		w.put(w.ada.source, 1, 0, w.doc("a", "1234567890"))
		w.roomFor(new(int64(20)))
		_, _, err := w.db.PutDocuments(w.ctx, w.ada.source, []source.Document{w.doc("b", "12"), w.doc("c", "1")})
		w.wantKind(err, core.KindForbidden, core.Storage{Limited: true, Limit: 20, Used: 14}.Exceeded().Detail)
		w.same("code", core.AsError(err).Code, "quota_exceeded")
		w.wantStored("after the refusal", 14)
		w.same("documents", w.documents(w.ada), 1)
		w.put(w.ada.source, 1, 0, w.doc("b", "12"))
		w.roomFor(new(int64(5)))
		w.put(w.ada.source, 0, 1, w.doc("a", "1")) // shrinking and unchanged documents are always accepted
		w.put(w.ada.source, 0, 0, w.doc("b", "12"))
		w.roomFor(nil)
		w.put(w.ada.source, 1, 0, w.doc("c", "1234567890"))
	}},
	{"UserWithoutAPlanHasNoStorage", func(w *fixture) {
		w.put(w.ada.source, 1, 0, w.doc("a", "1"))
		w.must(w.db.SetPlan(w.ctx, w.ada.id, core.PlanNone))
		_, _, err := w.db.PutDocuments(w.ctx, w.ada.source, []source.Document{w.doc("b", "1")})
		w.same("code", core.AsError(err).Code, "quota_exceeded")
		_, err = w.db.DeleteDocuments(w.ctx, w.ada.source, []string{"a"}, w.now)
		w.must(err)
	}},
}
