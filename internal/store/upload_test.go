package store_test

import (
	"bytes"
	"strconv"
	"sync/atomic"

	"carrel/internal/core"
	"carrel/internal/importer"
	"carrel/internal/task"
	"carrel/internal/testkit"
)

func (w *fixture) upload(sourceID, name string) importer.Upload {
	w.t.Helper()
	u := importer.Upload{
		ID: core.NewID("upl"), SourceID: sourceID, Name: name, Size: -1, CreatedAt: w.now,
		UpdatedAt: w.now,
	}
	w.must(w.db.InsertUpload(w.ctx, u))
	return u
}

func (w *fixture) file(sourceID, name string) importer.File {
	w.t.Helper()
	f := importer.File{
		ID: core.NewID("fil"), SourceID: sourceID, Name: name, Size: 3, Version: "v", Hash: []byte{1}, Documents: 2,
		Skipped: 1, Error: "", Outcome: importer.OutcomeAdded, Parts: "[]", CreatedAt: w.now, UpdatedAt: w.now,
	}
	id, err := w.db.PutFile(w.ctx, f)
	w.must(err)
	f.ID = id
	return f
}

var uploadTests = []test{
	{"UploadIsAppendedInChunks", func(w *fixture) {
		u := w.upload(w.ada.source, "a.txt")
		w.must(w.db.AppendUpload(w.ctx, u.ID, 0, []byte("one"), w.after(1)))
		w.must(w.db.AppendUpload(w.ctx, u.ID, 3, []byte("four"), w.after(2)))
		w.wantKind(w.db.AppendUpload(w.ctx, u.ID, 3, []byte("again"), w.after(3)), core.KindConflict, "")
		ready, err := w.db.ReadyUploads(w.ctx, w.ada.source, 9)
		w.must(err)
		w.same("ready before the end", len(ready), 0)
		w.must(w.db.FinishUpload(w.ctx, u.ID, w.after(4)))
		w.wantKind(w.db.AppendUpload(w.ctx, u.ID, 7, []byte("late"), w.after(5)), core.KindConflict, "")
		ready, err = w.db.ReadyUploads(w.ctx, w.ada.source, 9)
		w.must(err)
		u.Size, u.Received, u.Ready, u.UpdatedAt = 7, 7, true, w.after(4)
		w.same("ready", ready, []importer.Upload{u})
		files, size, err := w.db.WaitingUploads(w.ctx, w.ada.source)
		w.must(err)
		w.same("waiting", [2]int64{int64(files), size}, [2]int64{1, 7})
		chunk, err := w.db.UploadChunk(w.ctx, u.ID, 3)
		w.must(err)
		w.same("chunk", string(chunk), "four")
		_, err = w.db.Upload(w.ctx, w.bert.source, u.ID)
		w.wantMissing(err, "upload")
		w.wantMissing(w.db.DeleteUpload(w.ctx, w.bert.source, u.ID), "upload")
		w.must(w.db.DeleteUpload(w.ctx, w.ada.source, u.ID))
		_, err = w.db.UploadChunk(w.ctx, u.ID, 3)
		w.wantMissing(err, "upload")
	}},
	{"ConcurrentWritesAtOneOffsetSucceedOnce", func(w *fixture) {
		u := w.upload(w.ada.source, "a.txt")
		var won atomic.Int32
		testkit.Concurrently(8, func(i int) {
			if w.db.AppendUpload(w.ctx, u.ID, 0, bytes.Repeat([]byte(strconv.Itoa(i)), 10), w.now) == nil {
				won.Add(1)
			}
		})
		w.same("winners", won.Load(), int32(1))
		got, err := w.db.Upload(w.ctx, w.ada.source, u.ID)
		w.must(err)
		w.same("received", got.Received, int64(10))
	}},
	{"AbandonedUploadsArePruned", func(w *fixture) {
		old, ready := w.upload(w.ada.source, "old.txt"), w.upload(w.ada.source, "ready.txt")
		w.must(w.db.FinishUpload(w.ctx, ready.ID, w.now))
		w.must(w.db.PruneUploads(w.ctx, w.after(1)))
		_, err := w.db.Upload(w.ctx, w.ada.source, old.ID)
		w.wantMissing(err, "upload")
		_, err = w.db.Upload(w.ctx, w.ada.source, ready.ID)
		w.must(err)
	}},
	{"UploadKeepsItsResultWithoutItsBytes", func(w *fixture) {
		u, other := w.upload(w.ada.source, "a.txt"), w.upload(w.ada.source, "b.txt")
		for _, one := range []importer.Upload{u, other} {
			w.must(w.db.AppendUpload(w.ctx, one.ID, 0, []byte("four"), w.now))
			w.must(w.db.FinishUpload(w.ctx, one.ID, w.now))
		}
		w.must(w.db.InsertUpload(w.ctx, u)) // a repeated request
		result := importer.UploadResult{Outcome: importer.OutcomeFailed, Reason: "broken", Documents: 2, Skipped: 1}
		w.must(w.db.RecordUpload(w.ctx, u.ID, result, w.after(1)))
		w.must(w.db.RecordUpload(w.ctx, "upl_cancelled", result, w.after(1)))
		u.Size, u.Received, u.Ready, u.UploadResult, u.UpdatedAt = 4, 4, true, result, w.after(1)
		other.Size, other.Received, other.Ready = 4, 4, true
		got, err := w.db.UploadsByID(w.ctx, w.ada.source, []string{other.ID, u.ID, "upl_none"})
		w.must(err)
		w.same("uploads", got, []importer.Upload{u, other})
		got, err = w.db.UploadsByID(w.ctx, w.bert.source, []string{u.ID})
		w.must(err)
		w.same("uploads of another source", len(got), 0)
		_, err = w.db.UploadChunk(w.ctx, u.ID, 0)
		w.wantMissing(err, "upload")
		ready, err := w.db.ReadyUploads(w.ctx, w.ada.source, 9)
		w.must(err)
		w.same("uploads to import", ready, []importer.Upload{other})
		files, size, err := w.db.WaitingUploads(w.ctx, w.ada.source)
		w.must(err)
		w.same("waiting", [2]int64{int64(files), size}, [2]int64{1, 4})
		storage, err := w.db.StorageOfSource(w.ctx, w.ada.source)
		w.must(err)
		w.same("storage", storage.Used, int64(4))
		w.must(w.db.PruneUploads(w.ctx, w.after(2)))
		got, err = w.db.UploadsByID(w.ctx, w.ada.source, []string{other.ID, u.ID})
		w.must(err)
		w.same("uploads after pruning", got, []importer.Upload{other})
	}},
	{"FileKeepsItsIDAndIsDeletedWithItsDocuments", func(w *fixture) {
		f := w.file(w.ada.source, "a.jsonl")
		changed := f
		changed.ID, changed.Error, changed.Hash, changed.UpdatedAt = core.NewID("fil"), "broken", []byte{2}, w.after(9)
		changed.Outcome, changed.Parts = importer.OutcomeFailed, `[{"key":"A"}]`
		id, err := w.db.PutFile(w.ctx, changed)
		w.must(err)
		w.same("id", id, f.ID)
		got, err := w.db.FileByName(w.ctx, w.ada.source, "a.jsonl")
		w.must(err)
		changed.ID = f.ID
		w.same("file", got, changed)
		mine, other := w.doc("x", "one"), w.doc("y", "two")
		mine.File = f.ID
		w.put(w.ada.source, 2, 0, mine, other)
		ids, err := w.db.FileDocuments(w.ctx, w.ada.source, f.ID, "", 10)
		w.must(err)
		w.same("documents of the file", ids, []string{"x"})
		text, err := w.db.FileText(w.ctx, w.ada.source, f.ID)
		w.must(err)
		w.same("text of the file", text, mine.Text)
		_, err = w.db.FileText(w.ctx, w.bert.source, f.ID)
		w.wantMissing(err, "file")
		_, err = w.db.DeleteFile(w.ctx, w.bert.source, f.ID, w.now)
		w.wantMissing(err, "file")
		n, err := w.db.DeleteFile(w.ctx, w.ada.source, f.ID, w.now)
		w.must(err)
		w.same("deleted", n, 1)
		w.same("count", w.documents(w.ada), 1)
		w.same("left", w.scan(w.ada.source)[0].ExternalID, "y")
	}},
	{"FilesArePagedNewestFirst", func(w *fixture) {
		first, second, third := w.file(w.ada.source, "b"), w.file(w.ada.source, "a"), w.file(w.ada.source, "c")
		page, err := w.db.SourceFiles(w.ctx, w.ada.source, "", 2)
		w.must(err)
		w.same("first page", []string{page[0].ID, page[1].ID}, []string{third.ID, second.ID})
		page, err = w.db.SourceFiles(w.ctx, w.ada.source, second.ID, 2)
		w.must(err)
		w.same("second page", []string{page[0].ID}, []string{first.ID})
	}},
	{"ListedFilesHaveTheTitleOfTheirOnlyDocument", func(w *fixture) {
		one, two := w.file(w.ada.source, "one"), w.file(w.ada.source, "two")
		one.Documents, two.Documents = 1, 2
		for _, f := range []importer.File{one, two} {
			_, err := w.db.PutFile(w.ctx, f)
			w.must(err)
		}
		first, second, third := w.doc("x", "text"), w.doc("y", "text"), w.doc("z", "text")
		first.Title, first.File, second.File, third.File = "On Harbours", one.ID, two.ID, two.ID
		w.put(w.ada.source, 3, 0, first, second, third)
		page, err := w.db.SourceFiles(w.ctx, w.ada.source, "", 2)
		w.must(err)
		w.same("titles", []string{page[0].Title, page[1].Title}, []string{"", "On Harbours"})
	}},
	{"ImportProgressIsUpdated", func(w *fixture) {
		i := importer.Import{
			ID: core.NewID("imp"), SourceID: w.ada.source, State: task.StateRunning, CreatedAt: w.now,
			UpdatedAt: w.now,
		}
		w.must(w.db.PutImport(w.ctx, i))
		i.State, i.UpdatedAt, i.Files.Done = task.StateComplete, w.after(1), 3
		i.Errors = []importer.Problem{{File: "a", Reason: "b"}}
		w.must(w.db.PutImport(w.ctx, i))
		got, err := w.db.Imports(w.ctx, w.ada.source, 5)
		w.must(err)
		w.same("imports", got, []importer.Import{i})
	}},
	{"SourcesAreDueAtTheirNextSync", func(w *fixture) {
		due := w.after(-1_000_000_000)
		s := w.newSource(w.ada.agent, "Feed", false)
		s.Kind, s.NextSyncAt = "feed", &due
		w.must(w.db.InsertSource(w.ctx, w.ada.id, s))
		got, err := w.db.DueSources(w.ctx, due, 100)
		w.must(err)
		w.same("due", len(got), 1)
		again := w.after(60_000)
		w.must(w.db.SetSynced(w.ctx, s.ID, w.now, &again))
		one, userID, err := w.db.SourceByID(w.ctx, s.ID)
		w.must(err)
		s.SyncedAt, s.NextSyncAt = &w.now, &again
		w.same("source", one, s)
		w.same("user", userID, w.ada.id)
		got, err = w.db.DueSources(w.ctx, due, 100)
		w.must(err)
		w.same("due after", len(got), 0)
		w.must(w.db.SetSynced(w.ctx, s.ID, w.now, nil))
	}},
}
