package importer_test

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/importer"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit/s3fake"
)

// bucketFixture is a fixture with a bucket source.
type bucketFixture struct {
	*fixture
	store *s3fake.Store
	src   source.Source
}

func newBucketFixture(t *testing.T, change func(*source.New)) *bucketFixture {
	t.Helper()
	b := &bucketFixture{fixture: newFixture(t), store: s3fake.New(t, 2)}
	n := source.New{
		Name: "Bucket", Kind: source.KindS3, Secret: s3fake.Secret,
		Settings: source.Settings{
			Bucket: s3fake.Bucket, Region: s3fake.Region, Endpoint: b.store.URL, AccessKeyID: s3fake.KeyID,
			Prefix: "in/",
		},
	}
	if change != nil {
		change(&n)
	}
	var err error
	b.src, err = b.sources.Add(t.Context(), b.actor, b.agent, n)
	b.must(err)
	return b
}

// sync runs an import of the source and returns it.
func (b *bucketFixture) sync() importer.Import {
	b.t.Helper()
	_, err := b.importer.Sync(b.t.Context(), b.actor, b.agent, b.src.ID)
	b.must(err)
	return b.imported(b.src.ID)
}

func TestABucketIsKeptUpToDate(t *testing.T) {
	t.Parallel()
	b := newBucketFixture(t, nil)
	for i := range 5 {
		b.store.Put("in/"+strconv.Itoa(i)+" ä.txt", "text "+strconv.Itoa(i))
	}
	b.store.Put("in/refs.bib", "@misc{k, title={K}}")
	b.store.Put("in/picture.png", "not read")
	b.store.Put("in/.DS_Store", "hidden")
	b.store.Put("in/folder/", "")
	b.store.Put("out.txt", "not below the prefix")
	first := b.sync()
	b.same("first", first.Documents, importer.DocumentCounts{Added: 6})
	b.same("files", first.Files, importer.FileCounts{Total: 7, Done: 7, Failed: 1})
	b.same("the picture is reported", first.Errors[0],
		importer.Problem{File: "in/picture.png", Reason: "This file format is not supported."})
	b.same("text", b.documents(b.src.ID)["in/3 ä.txt"], "text 3")
	b.store.Asked()
	b.same("nothing new", b.sync().Files, importer.FileCounts{})
	if asked := b.store.Asked(); slices.ContainsFunc(
		asked, func(s string) bool { return !strings.Contains(s, "list-type") },
	) {
		t.Errorf("what has not changed was fetched: %q", asked)
	}
	b.store.Put("in/0 ä.txt", "TEXT 0") // same length as before: only the ETag changes
	b.store.Delete("in/1 ä.txt")
	third := b.sync()
	b.same("changed", third.Documents, importer.DocumentCounts{Updated: 1, Deleted: 1})
	b.same("removed", third.Files.Removed, 1)
	if docs := b.documents(b.src.ID); len(docs) != 5 || docs["in/0 ä.txt"] != "TEXT 0" {
		t.Errorf("documents %v", docs)
	}
}

func TestABucketThatCannotBeReadSaysWhyAndKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	b := newBucketFixture(t, nil)
	b.store.Put("in/a.txt", "one")
	b.sync()
	truncated := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>`)
	}
	for want, fault := range map[string]s3fake.Fault{
		"s3:ListBucket":               s3fake.Refuse(http.StatusForbidden, "AccessDenied"),
		"no such bucket":              s3fake.Refuse(http.StatusNotFound, "NoSuchBucket"),
		"clock":                       s3fake.Refuse(http.StatusForbidden, "RequestTimeTooSkewed"),
		"status 418":                  s3fake.Refuse(http.StatusTeapot, "<script>"),
		"can't be read":               s3fake.Truncate,
		"more than a million objects": truncated,
		"settings.region to eu-north-1": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", "eu-north-1")
			http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
		},
	} {
		b.store.Fail(fault)
		got := b.sync()
		if got.State != task.StateFailed || len(got.Errors) != 1 || !strings.Contains(got.Errors[0].Reason, want) {
			t.Errorf("%s: %s %+v", want, got.State, got.Errors)
		}
	}
	for _, asked := range b.store.Asked() {
		if strings.HasPrefix(asked, "/elsewhere") {
			t.Error("a redirect was followed")
		}
	}
	b.same("documents", len(b.documents(b.src.ID)), 1)
	b.store.Fail(s3fake.Refuse(http.StatusServiceUnavailable, "SlowDown")) // once: the request is retried
	b.same("after a pause", b.sync().State, task.StateComplete)
}

func TestAnObjectThatChangesOrGoesBetweenListingAndReadingIsReadAsItIs(t *testing.T) {
	t.Parallel()
	b := newBucketFixture(t, nil)
	listed := func(then func()) s3fake.Fault { // a listing of a.txt, followed by a change
		return func(w http.ResponseWriter, _ *http.Request) {
			then()
			_, _ = io.WriteString(
				w,
				`<ListBucketResult><Contents><Key>in/a.txt</Key><ETag>"before"</ETag><Size>1</Size></Contents></ListBucketResult>`,
			)
		}
	}
	b.store.Fail(listed(func() { b.store.Put("in/a.txt", "after") }))
	b.same("changed", b.sync().Documents, importer.DocumentCounts{Added: 1})
	b.same("text", b.documents(b.src.ID)["in/a.txt"], "after")
	b.same("the next one finds it as it was read", b.sync().Files, importer.FileCounts{})
	b.store.Fail(listed(func() { b.store.Delete("in/a.txt") }))
	b.same("gone", b.sync().Documents, importer.DocumentCounts{Deleted: 1})
	b.store.Fail(listed(func() {}))
	b.same("gone, and never here", b.sync().Files, importer.FileCounts{Total: 1, Done: 1, Unchanged: 1})
}

func TestAnObjectThatCannotBeReadStopsNothing(t *testing.T) {
	t.Parallel()
	b := newBucketFixture(t, nil)
	b.store.Put("in/a.txt", "one")
	b.store.Put("in/b.txt", "two")
	b.store.Put("in/huge.txt", strings.Repeat("x", 9<<20))
	b.store.Fail(nil, nil, s3fake.Truncate) // two pages of the listing, then a.txt
	got := b.sync()
	b.same("files", got.Files, importer.FileCounts{Total: 3, Done: 3, Failed: 2})
	reasons := map[string]string{}
	for _, e := range got.Errors {
		reasons[e.File] = e.Reason
	}
	if !strings.Contains(reasons["in/a.txt"], "download ended early") ||
		!strings.Contains(reasons["in/huge.txt"], "larger than 8 MiB") {
		t.Errorf("reasons %v", reasons)
	}
	b.store.Delete("in/huge.txt")
	b.same("the next one reads what failed", b.sync().Documents, importer.DocumentCounts{Added: 1})
	b.store.Put("in/a.txt", "new")
	b.store.Fail(nil, s3fake.Refuse(http.StatusForbidden, "AccessDenied"))
	b.same("refused", b.sync().Files.Failed, 1)
	b.same("stays as it was", b.documents(b.src.ID)["in/a.txt"], "one")
}

func TestABucketNeedsBothHalvesOfItsKeyAndSettingsThatCanBe(t *testing.T) {
	t.Parallel()
	b := newBucketFixture(t, nil)
	for field, n := range map[string]source.New{
		"/settings/bucket": {Settings: source.Settings{Bucket: "Not/A.Bucket"}},
		"/settings/region": {Settings: source.Settings{Bucket: "papers", Region: "eu.evil.example/"}},
		"/settings/endpoint": {Settings: source.Settings{
			Bucket: "papers", Endpoint: "https://user@store.example/path",
		}},
		"/settings/prefix":      {Settings: source.Settings{Bucket: "papers", Prefix: "a\x00"}},
		"/settings/accessKeyId": {Settings: source.Settings{Bucket: "papers"}, Secret: "of whom?"},
		"/secret":               {Settings: source.Settings{Bucket: "papers", AccessKeyID: "AKIAEXAMPLE"}},
	} {
		n.Name, n.Kind = "X", source.KindS3
		_, err := b.sources.Add(t.Context(), b.actor, b.agent, n)
		if !core.IsKind(err, core.KindInvalid) || core.AsError(err).Fields[0].Pointer != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, err := b.sources.Add(t.Context(), b.actor, b.agent, source.New{
		Name: "X", Kind: source.KindS3, Secret: s3fake.Secret,
		Settings: source.Settings{Bucket: "papers", AccessKeyID: "a/b,c"},
	})
	if !core.IsKind(err, core.KindInvalid) {
		t.Errorf("an id that can't be: %v", err)
	}
}
