package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
	"carrel/internal/testkit/zoterofake"
)

// noSource, noFile and noUpload have the form of ids and do not exist.
const (
	noSource = "src_00000000000000000000000000"
	noFile   = "fil_00000000000000000000000000"
	noUpload = "upl_00000000000000000000000000"

	noDocument = "doc_00000000000000000000000000"
)

// sourceIDs holds the ids for the calls of sources.
type sourceIDs struct{ source, feed, file, upload, document string }

// sourceCalls returns a valid request for every operation on sources.
func (w *installation) sourceCalls() []call {
	one := w.below("/sources/" + w.sources.source)
	body, kind := form("a.txt", "A text.")
	octets := "application/offset+octet-stream"
	return []call{
		{operation: "listSources", method: "GET", path: w.below("/sources")},
		{operation: "createSource", method: "POST", path: w.below("/sources"), body: `{"name": "Another"}`},
		{operation: "getSource", method: "GET", path: one},
		{operation: "changeSource", method: "PATCH", path: one, body: `{"name": "Papers"}`},
		{operation: "deleteSource", method: "DELETE", path: one},
		{operation: "syncSource", method: "POST", path: one + "/sync"},
		{operation: "writeFavouritesToZotero", method: "POST", path: one + "/favourites", body: `{"collection": "Carrel"}`},
		{operation: "listImports", method: "GET", path: one + "/imports"},
		{operation: "streamImports", method: "GET", path: one + "/events?until=done"},
		{operation: "listFiles", method: "GET", path: one + "/files"},
		call{operation: "uploadFiles", method: "POST", path: one + "/files", body: body}.with("Content-Type", kind),
		{operation: "deleteFile", method: "DELETE", path: one + "/files/" + w.sources.file},
		{operation: "listUploads", method: "GET", path: one + "/uploads?ids=" + w.sources.upload},
		call{operation: "createUpload", method: "POST", path: one + "/uploads"}.with("Upload-Length", "7").
			with("Upload-Metadata", "filename YS50eHQ="),
		call{operation: "appendUpload", method: "PATCH", path: one + "/uploads/" + w.sources.upload, body: "x"}.
			with("Upload-Offset", "0").with("Content-Type", octets),
		{operation: "listDocuments", method: "GET", path: one + "/documents"},
		{
			operation: "putDocuments", method: "POST", path: one + "/documents",
			body: `{"documents": [{"externalId": "x", "text": "A text."}]}`,
		},
		{operation: "deleteDocuments", method: "POST", path: one + "/documents/delete", body: `{"ids": ["` + noDocument + `"]}`},
		{
			operation: "rereadDocuments", method: "POST", path: one + "/documents/reread",
			body: `{"ids": ["` + w.sources.document + `"]}`,
		},
		{
			operation: "changeDocument", method: "PATCH", path: w.below("/documents/" + w.sources.document),
			body: `{"title": "Changed"}`,
		},
		{operation: "deleteDocument", method: "DELETE", path: w.below("/documents/" + noDocument)},
		{operation: "downloadOriginal", method: "GET", path: w.below("/documents/" + w.sources.document + "/original")},
		{operation: "cancelUpload", method: "DELETE", path: one + "/uploads/" + w.sources.upload},
	}
}

// form returns a multipart body with one file.
func form(name, content string) (body, contentType string) {
	var b bytes.Buffer
	f := multipart.NewWriter(&b)
	part, _ := f.CreateFormFile("file", name) // a buffer does not fail
	_, _ = io.WriteString(part, content)
	_ = f.Close()
	return b.String(), f.FormDataContentType()
}

// ofFiles are the operations whose bodies are not JSON; sourceRefusals and favouriteFiles test their errors.
var ofFiles = map[string]bool{
	"uploadFiles": true, "createUpload": true, "appendUpload": true, "importFavouriteFile": true,
}

// unseenOfSources are replies that no test causes: bodies of a gigabyte, and an estimate, which takes seconds. An
// import that is being read may be seen or not. The cursor of a search is not saved with it.
var unseenOfSources = []string{
	"reply uploadFiles 413", "reply appendUpload 413", "field ImportJob.*", "field SearchRequest.cursor",
}

// moveSecret sets the secret of a source and then another URL, which removes the secret.
func (w *installation) moveSecret(t *testing.T, path string) {
	t.Helper()
	wiki := path + "/" + w.do(
		t, "POST", path,
		`{"name": "Wiki", "kind": "mcp", "secret": "s3cret", "settings": {"url": "https://wiki.example.org/mcp"}}`,
	).text("source", "id")
	if got := w.do(t, "GET", wiki, ""); got.at("source", "hasSecret") != true ||
		strings.Contains(got.text("source", "settings"), "s3cret") {
		t.Errorf("read %v", got.body)
	}
	got := w.do(t, "PATCH", wiki, `{"settings": {"url": "https://evil.example/mcp"}}`)
	if got.at("source", "hasSecret") != false || got.text("warnings", 0, "code") != "secret_removed" {
		t.Errorf("after a change of the host: %v", got.body)
	}
	w.do(t, "DELETE", wiki, "")
}

// fillSources creates sources, fills them in every way, and changes them.
func (w *installation) fillSources(t *testing.T) {
	path := w.below("/sources")
	before := w.do(t, "GET", w.below(""), "").text("agent", "defaultSourceId")
	w.conditional(t, path)
	w.sources.source = w.do(t, "POST", path, `{"name": "Papers", "language": "en"}`).text("source", "id")
	one := path + "/" + w.sources.source
	w.do(t, "PATCH", one, `{"name": "Renamed", "default": true, "secret": ""}`)
	w.moveSecret(t, path)
	w.do(t, "PATCH", path+"/"+before, `{"default": true}`)
	for _, file := range [][2]string{
		{"folder/good.md", "# Good\n\nA text."},
		{"bad.pdf", "no PDF"},
		{"half.jsonl", "x\n" + `{"id": 1, "text": "y"}`},
		{"portable-1998.pdf", pdfFile("A portable text of some length.")},
		{"processed.docx", wordFile("A processed text.")},
	} {
		body, kind := form(file[0], file[1])
		w.send(t, call{method: "POST", path: one + "/files", body: body, key: w.key}.with("Content-Type", kind),
			http.StatusOK)
	}
	w.filled(t, one, 5)
	if got := w.do(t, "GET", one+"/files", "").text("files", 4, "name"); got != "folder/good.md" {
		t.Errorf("the first file is called %q", got)
	}
	w.originals(t)
	w.libraryDocuments(t, one)
	w.conditional(t, one)
	w.conditional(t, one+"/imports")
	w.conditional(t, one+"/files")
	w.paged(t, one+"/files", "files")
	files := w.do(t, "GET", one+"/files", "")
	w.do(t, "DELETE", one+"/files/"+files.text("files", 0, "id"), "")
	w.sources.file = files.text("files", 1, "id")
	w.fileOutcomes(t, one)
	w.sendPieces(t, one)
	w.sync(t, path)
	w.sourceRefusals(t, path, one)
}

// fileOutcomes uploads a file, the same file again, and a changed one.
func (w *installation) fileOutcomes(t *testing.T, one string) {
	t.Helper()
	for _, step := range [][2]string{{"First.", "added"}, {"First.", "unchanged"}, {"Second.", "updated"}} {
		body, kind := form("again.md", step[0])
		w.send(t, call{method: "POST", path: one + "/files", body: body, key: w.key}.with("Content-Type", kind),
			http.StatusOK)
		w.until(t, func() bool {
			files := w.do(t, "GET", one+"/files", "")
			return files.text("files", 0, "name") == "again.md" && files.text("files", 0, "outcome") == step[1]
		})
	}
}

// originals downloads the original of an uploaded text, whole and in part.
func (w *installation) originals(t *testing.T) {
	t.Helper()
	for word, kind := range map[string]string{
		"portable": "application/pdf", "processed": "application/octet-stream",
	} {
		file := call{method: "GET", path: w.below("/documents/" + w.findInSource(t, word) + "/original"), key: w.key}
		if got := w.send(t, file, http.StatusOK).header; got.Get("Content-Type") != kind {
			t.Errorf("%s: %v", word, got)
		}
		w.send(t, file.with("Range", "bytes=0-3"), http.StatusPartialContent)
	}
	w.sources.document = w.findInSource(t, "good")
	document := w.below("/documents/" + w.sources.document)
	got := w.do(t, "GET", document, "")
	if got.text("document", "original", "name") != "good.md" || got.text("document", "original", "type") != "text/plain" ||
		got.at("document", "original", "inline") != true {
		t.Errorf("read %v", got.body)
	}
	file := call{method: "GET", path: document + "/original", key: w.key}
	status, body, header, err := w.exchange(t.Context(), file)
	if err != nil || status != http.StatusOK || string(body) != "# Good\n\nA text." {
		t.Errorf("the original: %d %q (%v)", status, body, err)
	}
	for name, want := range map[string]string{
		"Content-Disposition": "inline; filename=good.md", "X-Content-Type-Options": "nosniff",
		"Content-Type": "text/plain; charset=utf-8",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if !strings.HasPrefix(header.Get("Content-Security-Policy"), "sandbox;") {
		t.Errorf("Content-Security-Policy: %q", header.Get("Content-Security-Policy"))
	}
	w.send(t, file.with("If-None-Match", header.Get("ETag")), http.StatusNotModified)
	_, body, _, err = w.exchange(t.Context(), file.with("Range", "bytes=2-5"))
	if err != nil || string(body) != "Good" {
		t.Errorf("a part: %q (%v)", body, err)
	}
	w.send(t, file.with("Range", "bytes=2-5"), http.StatusPartialContent)
	w.send(t, file.with("Range", "bytes=99-"), http.StatusOK)
}

// libraryDocuments stores, lists, changes and deletes documents.
func (w *installation) libraryDocuments(t *testing.T, one string) {
	t.Helper()
	batch := `{"documents": [
		{"externalId": "codd", "title": "A Relational Model", "text": "A model is proposed.", "authors": ["E. F. Codd"],
			"year": 1970, "publishedAt": "1970-06-01", "url": "https://example.org/codd", "doi": "10.1145/1", "venue": "CACM",
			"type": "article", "tags": ["databases"], "language": "en"},
		{"externalId": "note", "text": "A note."}]}`
	for _, want := range []string{"added", "unchanged"} {
		if got := w.do(t, "POST", one+"/documents", batch); got.text("documents", 0, "outcome") != want {
			t.Errorf("stored %v, want %s", got.body, want)
		}
	}
	changed := w.do(t, "POST", one+"/documents", `{"documents": [{"externalId": "note", "text": "Another note of 1998."}]}`)
	note := changed.text("documents", 0, "id")
	if changed.text("documents", 0, "outcome") != "updated" || note == "" {
		t.Errorf("stored %v", changed.body)
	}
	list := w.do(t, "GET", one+"/documents?q=note", "")
	if list.at("undated").(float64) < 1 || list.at("documents", 0, "yearGuess", "year") != 1998.0 ||
		list.text("documents", 0, "yearGuess", "from") != "text" {
		t.Errorf("a document without a year: %v", list.body)
	}
	w.do(t, "POST", one+"/documents", `{"documents": [{"externalId": "minutes-1998.txt", "text": "The minutes."}]}`)
	list = w.do(t, "GET", one+"/documents?q=minutes", "")
	if list.text("documents", 0, "yearGuess", "from") != "file_name" {
		t.Errorf("a document with a year in the name of its file: %v", list.body)
	}
	w.conditional(t, one+"/documents")
	w.paged(t, one+"/documents", "documents")
	for filter, want := range map[string]string{
		"q=RELATIONAL": "codd", "year=1970": "codd", "type=article": "codd",
		"q=codd&language=en": "codd", "q=codd&language=de": "",
		"q=note&status=no_year": "note",
		"status=no_text":        "", "status=edited": "",
	} {
		if got := w.do(t, "GET", one+"/documents?"+filter, ""); got.text("documents", 0, "externalId") != want {
			t.Errorf("%s: %v", filter, got.body)
		}
	}
	file := w.do(t, "GET", w.below("/documents/"+w.sources.document), "").text("document", "fileId")
	if got := w.do(t, "GET", one+"/documents?file="+file, ""); got.text("documents", 0, "id") != w.sources.document {
		t.Errorf("the documents of a file: %v", got.body)
	}
	codd := w.below("/documents/" + w.do(t, "GET", one+"/documents?q=codd", "").text("documents", 0, "id"))
	got := w.do(t, "PATCH", codd, `{"title": "Banks", "authors": ["Ted Codd"], "year": 1971, "venue": "",
		"doi": "10.1145/2", "url": "https://example.org/2", "tags": ["a", "b"], "language": "de"}`)
	if got.text("document", "title") != "Banks" || got.at("document", "edited", 6) != "tags" ||
		got.text("document", "language") != "de" {
		t.Errorf("changed %v", got.body)
	}
	w.do(t, "POST", one+"/documents", strings.Replace(batch, "A model is proposed.", "Another model is proposed.", 1))
	got = w.do(t, "GET", codd, "")
	if got.text("document", "title") != "Banks" || got.text("document", "text") != "Another model is proposed." {
		t.Errorf("after another import: %v", got.body)
	}
	w.do(t, "GET", one+"/documents?status=edited", "")
	for _, body := range []string{
		`{"title": ""}`, `{"year": 2201}`, `{"url": "javascript:x"}`, `{"tags": [""]}`,
		`{"language": "xx"}`,
	} {
		w.problem(t, call{method: "PATCH", path: codd, body: body, key: w.key}, 400, "invalid_request")
	}
	w.problem(t, call{method: "GET", path: one + "/documents?language=xx", key: w.key}, 400, "invalid_request")
	again := w.do(t, "POST", one+"/documents/reread", `{"ids": ["`+w.sources.document+`"]}`)
	if again.text("import", "state") == "" {
		t.Errorf("read again: %v", again.body)
	}
	w.problem(t, call{
		method: "POST", path: one + "/documents/reread", body: `{"ids": ["` + note + `"]}`, key: w.key,
	}, 409, "conflict")
	w.do(t, "DELETE", codd, "")
	if got := w.do(t, "POST", one+"/documents/delete", `{"ids": ["`+note+`", "`+noDocument+`"]}`); got.at("deleted") != 1.0 {
		t.Errorf("deleted %v", got.body)
	}
}

// findInSource returns the id of the document in the source that contains a word, when it is indexed.
func (w *installation) findInSource(t *testing.T, word string) (id string) {
	t.Helper()
	w.until(t, func() bool {
		id = w.do(t, "POST", w.below("/search"), `{"query": "`+word+`", "sourceId": "`+w.sources.source+`"}`).
			text("results", 0, "documentId")
		return id != ""
	})
	return id
}

// pdfFile returns a PDF file of one page.
func pdfFile(text string) string {
	content := "BT /F1 12 Tf 72 700 Td (" + text + ") Tj ET"
	return "%PDF-1.4\n" +
		"1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n" +
		"2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj\n" +
		"3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R " +
		"/Resources <</Font <</F1 5 0 R>>>>>> endobj\n" +
		"4 0 obj <</Length " + strconv.Itoa(len(content)) + ">> stream\n" + content + "\nendstream endobj\n" +
		"5 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj\n" +
		"trailer <</Root 1 0 R>>\n%%EOF\n"
}

// wordFile returns a Word file of one paragraph.
func wordFile(text string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	part, _ := z.Create("word/document.xml") // a buffer does not fail
	_, _ = io.WriteString(part, `<?xml version="1.0"?>`+
		`<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">`+
		`<w:body><w:p><w:r><w:t>`+text+`</w:t></w:r></w:p></w:body></w:document>`)
	_ = z.Close()
	return b.String()
}

// filled waits until a source has a number of files.
func (w *installation) filled(t *testing.T, one string, files int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	for ctx.Err() == nil {
		list, _ := w.do(t, "GET", one+"/files", "").at("files").([]any)
		state := w.do(t, "GET", one, "").text("source", "import", "state")
		if len(list) >= files && state != "queued" && state != "running" {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not have %d files in time", one, files)
}

// sendPieces uploads a file in chunks, like a tus client, with an interruption.
func (w *installation) sendPieces(t *testing.T, one string) {
	upload := call{method: "POST", path: one + "/uploads", key: w.key}.
		with("Upload-Metadata", "filename cGllY2VzLnR4dA==")
	begin := upload.with("Upload-Length", "7")
	at := strings.TrimPrefix(w.send(t, begin, http.StatusCreated).header.Get("Location"), w.server.URL)
	piece := func(offset, body string) call {
		return call{method: "PATCH", path: at, body: body, key: w.key}.with("Upload-Offset", offset).
			with("Content-Type", "application/offset+octet-stream")
	}
	w.send(t, piece("0", "A te"), http.StatusNoContent)
	w.problem(t, piece("0", "A te"), 409, "conflict")
	if got := w.send(t, piece("0", "A te"), http.StatusConflict).header.Get("Upload-Offset"); got != "4" {
		t.Errorf("the refusal says that it is at %q", got)
	}
	w.send(t, piece("4", "xt."), http.StatusNoContent)
	w.uploadResults(t, one, at[strings.LastIndex(at, "/")+1:])
	keyed := begin.with("Idempotency-Key", "pieces")
	first := w.send(t, keyed, http.StatusCreated).header.Get("Location")
	again := w.send(t, keyed, http.StatusCreated).header
	if again.Get("Location") != first || again.Get("Idempotent-Replayed") != "true" {
		t.Errorf("a repeated request created %v after %s", again, first)
	}
	w.problem(t, upload.with("Upload-Length", "8").with("Idempotency-Key", "pieces"), 422, "idempotency_mismatch")
	w.problem(t, begin.with("Idempotency-Key", "ü"), 400, "invalid_request")
	given := strings.TrimPrefix(w.send(t, begin, http.StatusCreated).header.Get("Location"), w.server.URL)
	w.send(t, call{method: "DELETE", path: given, key: w.key}, http.StatusNoContent)
	open := w.send(t, begin, http.StatusCreated).header.Get("Location")
	w.sources.upload = open[strings.LastIndex(open, "/")+1:]
}

// uploadResults waits for the result of an upload, and reads those of a file that is broken and of one with a broken
// record.
func (w *installation) uploadResults(t *testing.T, one, id string) {
	t.Helper()
	ids := []string{id}
	for _, file := range [][2]string{{"worse.pdf", "no PDF"}, {"half2.jsonl", "x\n" + `{"id": 2, "text": "y"}`}} {
		body, kind := form(file[0], file[1])
		sent := w.send(t, call{method: "POST", path: one + "/files", body: body, key: w.key}.with("Content-Type", kind),
			http.StatusOK)
		ids = append(ids, sent.text("uploads", 0, "id"))
	}
	path := one + "/uploads?ids=" + strings.Join(ids, ",")
	w.filled(t, one, 1) // no import is waiting or running
	w.conditional(t, path)
	got := w.do(t, "GET", path, "")
	for i, want := range []string{"added", "failed", "added"} {
		if got.text("uploads", i, "outcome") != want || (got.text("uploads", i, "reason") == "") != (i == 0) {
			t.Errorf("upload %d: %v", i, got.at("uploads", i))
		}
	}
	for _, query := range []string{"", "?ids=,", "?ids=" + strings.Repeat("x,", 100) + "x"} {
		w.problem(t, call{method: "GET", path: one + "/uploads" + query, key: w.key}, 400, "invalid_request")
	}
}

// sync synchronises sources, one of them a feed that cannot be fetched.
func (w *installation) sync(t *testing.T, path string) {
	feed := w.do(
		t, "POST", path,
		`{"name": "Feed", "kind": "feed", "settings": {"url": "http://127.0.0.1:1/feed", "syncMinutes": 60}}`,
	).text("source", "id")
	w.sources.feed = feed
	w.do(t, "POST", path+"/"+feed+"/sync", "")
	w.filled(t, path+"/"+feed, 1)
	w.do(t, "GET", path+"/"+feed, "")
	web := w.do(t, "POST", path, `{"name": "Web", "kind": "web", "settings": {"urls": ["http://127.0.0.1:1/"]}}`).
		text("source", "id")
	w.filled(t, path+"/"+web, 1)
	w.problem(t, call{
		method: "POST",
		path:   path,
		key:    w.key,
		body:   `{"name": "Folder", "kind": "folder", "settings": {"path": "/srv"}}`,
	}, 403, "insufficient_scope")
	folder := w.admin(t, "source", "add", "--agent", w.agent, "--name", "Folder", "folder", "--path", t.TempDir()).
		text("source", "id")
	w.do(t, "GET", path+"/"+folder, "")
	stream := call{method: "GET", path: path + "/" + feed + "/events?until=done", key: w.key}.with("Last-Event-ID", "1.0")
	if status, body, _, err := w.exchange(t.Context(), stream); err != nil || status != http.StatusOK ||
		!strings.Contains(string(body), "event: done") {
		t.Errorf("events: %d %s (%v)", status, body, err)
	}
	w.do(t, "DELETE", path+"/"+web, "")
	bucket := w.do(t, "POST", path,
		`{"name": "Bucket", "kind": "s3", "secret": "hidden", "settings": {"bucket": "papers", "prefix": "2026/",
			"region": "eu-central-1", "endpoint": "http://127.0.0.1:1", "accessKeyId": "AKIAEXAMPLE"}}`)
	if bucket.text("source", "settings", "bucket") != "papers" || bucket.at("source", "hasSecret") != true {
		t.Errorf("made %v", bucket.body)
	}
	w.filled(t, path+"/"+bucket.text("source", "id"), 0) // the import fails, which gives the task list a failed task
	w.zoteroSource(t, path)
}

// zoteroSource imports a Zotero library and writes a favourite to it.
func (w *installation) zoteroSource(t *testing.T, path string) {
	zotero := zoterofake.New(t)
	zotero.PutCollection("COLL2345", "Thesis", "")
	zotero.Put(map[string]any{
		"key": "BOOK2345", "itemType": "book", "title": "A Discipline of Programming", "collections": []any{"COLL2345"},
	})
	library := w.do(t, "POST", path,
		`{"name": "Zotero", "kind": "zotero", "secret": "`+zoterofake.Key+`", "settings": {
			"library": "groups/2510000", "collection": "Thesis", "url": "`+zotero.URL+`"}}`)
	if library.text("source", "settings", "library") != "groups/2510000" || library.at("source", "hasSecret") != true {
		t.Errorf("made %v", library.body)
	}
	one := path + "/" + library.text("source", "id")
	w.filled(t, one, 1)
	w.do(t, "POST", w.below("/favourites"), `{"card": {"cardId": "dijkstra", "title": "Go To Statement"}}`)
	written := w.do(t, "POST", one+"/favourites", `{"collection": "Thesis", "cardIds": ["dijkstra"]}`)
	if got := zotero.In("COLL2345"); len(got) != 2 || written.at("collection", "created") != false {
		t.Errorf("written %v, items %v", written.body, got)
	}
	w.do(t, "POST", one+"/favourites", `{"collection": "Thesis", "cardIds": ["dijkstra"]}`)            // unchanged
	w.do(t, "POST", one+"/favourites", `{"collection": "Second", "cardIds": ["dijkstra", "nothing"]}`) // linked, failed
	w.do(t, "DELETE", w.below("/favourites/dijkstra"), "")
}

// sourceRefusals makes calls on sources that must be refused.
func (w *installation) sourceRefusals(t *testing.T, path, one string) {
	first := path + "/" + w.do(t, "GET", w.below(""), "").text("agent", "defaultSourceId")
	w.problem(t, call{method: "DELETE", path: first, key: w.key}, 409, "conflict")
	w.problem(t, call{method: "DELETE", path: one + "?successor=" + noSource, key: w.key}, 400, "invalid_request")
	w.problem(t, call{method: "POST", path: one + "/sync", key: w.key}, 409, "conflict")
	w.problem(t, call{method: "POST", path: one + "/favourites", key: w.key, body: `{}`}, 409, "conflict")
	w.problem(t, call{
		method: "POST", path: path + "/" + w.sources.feed + "/documents", key: w.key,
		body: `{"documents": [{"externalId": "x", "text": "A text."}]}`,
	}, 409, "conflict")
	w.problem(t, call{method: "PATCH", path: one, body: `{"default": false}`, key: w.key}, 400, "invalid_request")
	for _, body := range []string{
		`{"name": ""}`, `{"name": "x", "kind": "ftp"}`, `{"name": "x", "kind": "feed"}`, `{"name": "x", "kind": "s3"}`,
		`{"name": "x", "settings": {"syncMinutes": 1}}`,
	} {
		w.problem(t, call{method: "POST", path: path, body: body, key: w.key}, 400, "invalid_request")
	}
	for _, missing := range []string{
		"/sources/" + noSource, "/sources/" + w.sources.source + "/files/" + noFile,
		"/sources/" + w.sources.source + "/uploads/" + noUpload,
	} {
		w.problem(t, call{method: "DELETE", path: w.below(missing), key: w.key}, 404, "not_found")
	}
	feed := path + "/" + w.sources.feed
	body, kind := form("a.txt", "A text.")
	upload := call{method: "POST", path: one + "/files", body: body, key: w.key}
	w.problem(t, upload.with("Content-Type", "text/plain"), 415, "unsupported_media_type")
	upload = upload.with("Content-Type", kind)
	upload.path = feed + "/files"
	w.problem(t, upload, 409, "conflict")
	begin := call{method: "POST", path: one + "/uploads", key: w.key}.with("Upload-Metadata", "filename YS50eHQ=")
	w.problem(t, begin, 400, "invalid_request")
	w.problem(t, begin.with("Upload-Length", "99999999999999"), 413, "body_too_large")
	w.problem(t, call{method: "POST", path: one + "/uploads", key: w.key}.with("Upload-Length", "1").with(
		"Upload-Metadata", "filename YS5leGU="), 415, "unsupported_media_type")
	begin.path = feed + "/uploads"
	w.problem(t, begin.with("Upload-Length", "1"), 409, "conflict")
	piece := call{method: "PATCH", path: one + "/uploads/" + w.sources.upload, body: "x", key: w.key}
	w.problem(t, piece.with("Upload-Offset", "0"), 415, "unsupported_media_type")
	w.problem(t, piece.with("Content-Type", "application/offset+octet-stream"), 400, "invalid_request")
}
