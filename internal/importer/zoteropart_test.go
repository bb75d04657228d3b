package importer_test

import (
	"strings"
	"testing"

	"carrel/internal/blob"
	"carrel/internal/importer"
)

// files returns the keys of the attachments that were downloaded since the last call, in order.
func (z *zoteroFixture) files() string {
	var keys []string
	for _, asked := range z.zotero.Asked() {
		if before, is := strings.CutSuffix(asked, "/file"); is {
			keys = append(keys, before[strings.LastIndexByte(before, '/')+1:])
		}
	}
	return strings.Join(keys, " ")
}

// secondFile adds another attachment with pages to the article.
func (z *zoteroFixture) secondFile() {
	z.zotero.Put(map[string]any{
		"key": "MORE2345", "itemType": "attachment", "parentItem": "ARTI2345", "linkMode": "imported_file",
		"title": "Notes", "contentType": "text/plain", "charset": "utf-8", "filename": "more.txt", "tags": []any{},
	})
	z.zotero.Store("MORE2345", "The second attachment.\n")
}

func TestUnchangedAttachmentsAreNotDownloadedAgain(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	z.codd()
	z.secondFile()
	z.sync()
	z.same("at first", z.files(), "FILE2345 MORE2345")
	before := z.document("ARTI2345").Text

	z.zotero.Change("NOTE2345", map[string]any{"note": "<p>Third normal form.</p>"})
	z.same("a note", z.sync().Documents, importer.DocumentCounts{Updated: 1})
	z.same("files after a note", z.files(), "")
	z.same("text after a note", z.document("ARTI2345").Text,
		strings.Replace(before, "Read the normal form again.", "Third normal form.", 1))

	z.zotero.Change("ARTI2345", map[string]any{"tags": []any{map[string]any{"tag": "sets"}}})
	z.zotero.Change("NOTE2345", map[string]any{"note": "<p>Read the normal form again.</p>"})
	z.same("a tag", z.sync().Documents, importer.DocumentCounts{Updated: 1})
	z.same("files after a tag", z.files(), "")
	text := strings.Replace(before, "Keywords: theory", "Keywords: sets", 1)
	z.same("text after a tag", z.document("ARTI2345").Text, text)

	z.must(z.db.SetSyncState(t.Context(), z.src.ID, ""))
	z.zotero.Delete("NOTE2345")
	z.same("a full pass", z.sync().Documents, importer.DocumentCounts{Updated: 1})
	z.same("files after a full pass", z.files(), "")

	z.zotero.Store("MORE2345", "Another second attachment.")
	z.sync()
	z.same("files after a change", z.files(), "MORE2345")
	got := z.document("ARTI2345").Text
	if !strings.HasSuffix(got, "calculus.\n\n# more.txt\n\nAnother second attachment.") {
		t.Errorf("text after a change: %q", got)
	}

	z.zotero.Change("FILE2345", map[string]any{"deleted": 1})
	z.sync()
	z.same("the second attachment becomes the first", z.files(), "MORE2345")
}

func TestAttachmentsAreDownloadedAgainIfTheirTextIsNotStored(t *testing.T) {
	t.Parallel()
	z := newZotero(t)
	z.codd()
	z.sync()
	z.files()
	text := z.document("ARTI2345").Text
	for name, parts := range map[string]string{
		"none": "", "no JSON": "{", "outside the text": `[{"key":"FILE2345","offset":9,"length":99999,"first":true}]`,
	} {
		file, err := z.db.FileByName(t.Context(), z.src.ID, "ARTI2345")
		z.must(err)
		if !strings.Contains(file.Parts, `"FILE2345"`) {
			t.Fatalf("parts %q", file.Parts)
		}
		file.Parts, file.Hash = parts, []byte{}
		_, err = z.db.PutFile(t.Context(), file)
		z.must(err)
		z.zotero.Change("ARTI2345", map[string]any{"extra": name})
		z.sync()
		z.same(name, z.files(), "FILE2345")
		z.same(name, z.document("ARTI2345").Text, text)
	}
}

func TestOriginalStaysIfItsAttachmentIsNotDownloadedAgain(t *testing.T) {
	t.Parallel()
	late := &lateOriginals{}
	z := newZotero(t, func(o *importer.Options) { o.Originals = late })
	keeping := func(keep bool) {
		late.Service = blob.NewService(blob.Deps{Storage: blob.NewFolder(t.TempDir()), Store: z.db, Clock: z.clock}, keep)
	}
	keeping(false)
	z.codd()
	z.sync()
	z.files()
	keeping(true)
	for _, step := range []struct{ tag, files string }{{"one", "FILE2345"}, {"two", ""}, {"three", ""}} {
		z.zotero.Change("ARTI2345", map[string]any{"tags": []any{map[string]any{"tag": step.tag}}})
		z.sync()
		z.same("files after "+step.tag, z.files(), step.files)
		z.same("original after "+step.tag, z.originals(late.Service, z.src.ID)["ARTI2345"],
			"codd.txt: A sublanguage based on predicate calculus.")
	}
}
