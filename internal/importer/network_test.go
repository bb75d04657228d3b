package importer_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/importer"
	"carrel/internal/outbound"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/s3fake"
)

// fill creates a source, imports it and returns the import.
func (w *fixture) fill(n source.New) (source.Source, importer.Import) {
	w.t.Helper()
	src, err := w.sources.Add(w.t.Context(), w.actor, w.agent, n)
	w.must(err)
	_, err = w.importer.Sync(w.t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	return src, w.imported(src.ID)
}

// kindsThatFetch returns a source of every kind that sends requests, with this address.
func kindsThatFetch(address string) []source.New {
	return []source.New{
		{Name: "Web", Kind: source.KindWeb, Settings: source.Settings{URLs: []string{address + "/page"}}},
		{Name: "Feed", Kind: source.KindFeed, Settings: source.Settings{URL: address + "/feed"}},
		{Name: "Bucket", Kind: source.KindS3, Settings: source.Settings{Bucket: "papers", Endpoint: address}},
	}
}

func TestNoKindReachesAPrivateAddressUnlessTheInstallationAllowsIt(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(private.Close)
	w := newFixtureWith(t, outbound.NewClient(outbound.Options{}))
	for _, n := range kindsThatFetch(private.URL) {
		_, got := w.fill(n)
		if len(got.Errors) != 1 || !strings.Contains(got.Errors[0].Reason, "is not allowed") {
			t.Errorf("%s: %+v", n.Kind, got)
		}
	}
	w.same("requests that arrived", asked.Load(), int32(0))
}

// The owner of a source must not learn from an import whether a private name exists.
func TestNoKindTellsAPrivateNameFromAnUnknownOne(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, answers := range [][][4]byte{nil, {{10, 0, 0, 1}}, {{127, 0, 0, 1}}, {{169, 254, 169, 254}}} {
		w := newFixtureWith(t, outbound.NewClient(outbound.Options{Resolver: testkit.FakeResolver(t, answers...)}))
		for _, n := range kindsThatFetch("http://intranet.example.org") {
			_, got := w.fill(n)
			if len(got.Errors) != 1 {
				t.Fatalf("%s: %+v", n.Kind, got)
			}
			reason := got.Errors[0].Reason
			if first, ok := seen[n.Kind]; ok && first != reason {
				t.Errorf("%s: %q, and for an unknown name %q", n.Kind, reason, first)
			}
			seen[n.Kind] = reason
		}
	}
}

// net/http would send the password in the redirect target.
func TestARedirectToAnAddressWithAPasswordIsNotFollowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	site := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/robots.txt" {
			http.NotFound(res, req)
			return
		}
		http.Redirect(res, req, strings.Replace(other.URL, "http://", "http://user:pass@", 1)+"/", http.StatusFound)
	}))
	t.Cleanup(site.Close)
	w := newFixture(t)
	for _, n := range kindsThatFetch(site.URL) {
		if _, got := w.fill(n); len(got.Errors) != 1 {
			t.Errorf("%s: %+v", n.Kind, got)
		}
	}
	w.same("requests that arrived", asked.Load(), int32(0))
}

func TestNoKindFollowsARedirectToARefusedAddress(t *testing.T) {
	t.Parallel()
	// Private networks are allowed, so that the first hop succeeds; metadata services never are.
	site := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/robots.txt" {
			http.NotFound(res, req)
			return
		}
		http.Redirect(res, req, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	}))
	t.Cleanup(site.Close)
	w := newFixture(t)
	for _, n := range kindsThatFetch(site.URL) {
		src, got := w.fill(n)
		if len(got.Errors) != 1 || got.Documents.Added != 0 || len(w.documents(src.ID)) != 0 {
			t.Errorf("%s: %+v", n.Kind, got)
		}
		if reason := got.Errors[0].Reason; n.Kind != source.KindS3 && !strings.Contains(reason, "is not allowed") {
			t.Errorf("%s: %s", n.Kind, reason)
		}
	}
}

func TestPagesThatRobotsTxtForbidsAreNotFetched(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	broken := false
	site := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[req.URL.Path]++
		switch {
		case req.URL.Path == "/robots.txt" && broken:
			res.WriteHeader(http.StatusServiceUnavailable)
		case req.URL.Path == "/robots.txt":
			_, _ = io.WriteString(res, "User-agent: *\nDisallow: /private/\n")
		case req.URL.Path == "/moved":
			http.Redirect(res, req, "/private/b", http.StatusFound)
		default:
			res.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(res, "A page.")
		}
	}))
	t.Cleanup(site.Close)
	w := newFixture(t)
	urls := []string{site.URL + "/a", site.URL + "/b", site.URL + "/moved", site.URL + "/private/a"}
	src, got := w.fill(source.New{Name: "Web", Kind: source.KindWeb, Settings: source.Settings{URLs: urls}})
	w.same("files", got.Files, importer.FileCounts{Total: 4, Done: 4, Failed: 2})
	for _, e := range got.Errors {
		if !strings.Contains(e.Reason, "robots.txt") {
			t.Errorf("%s: %s", e.File, e.Reason)
		}
	}
	mu.Lock()
	if asked["/private/a"]+asked["/private/b"] > 0 || asked["/robots.txt"] != 1 {
		t.Errorf("asked for %v", asked)
	}
	broken = true
	mu.Unlock()
	_, err := w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	w.same("while robots.txt is out of order", w.imported(src.ID).Files.Failed, 4)
	w.same("what is there stays", len(w.documents(src.ID)), 2)
}

func TestTotalsOfAResumedImportCoverAllFiles(t *testing.T) {
	t.Parallel()
	const all, last = 250, 210 // more than one step processes, and where the first attempt ends
	stuck, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var served atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Path == "/robots.txt":
			http.NotFound(res, req)
			return
		case req.URL.Path == fmt.Sprintf("/%03d", last):
			once.Do(func() { close(stuck) })
			select {
			case <-release:
			case <-req.Context().Done():
				return
			}
		}
		served.Add(1)
		res.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(res, "Page "+req.URL.Path)
	}))
	t.Cleanup(site.Close)
	w := newFixture(t)
	urls := make([]string, all)
	for i := range urls {
		urls[i] = fmt.Sprintf("%s/%03d", site.URL, i)
	}
	src, err := w.sources.Add(
		t.Context(), w.actor, w.agent,
		source.New{Name: "Web", Kind: source.KindWeb, Settings: source.Settings{URLs: urls}},
	)
	w.must(err)
	_, err = w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
	w.must(err)
	<-stuck
	w.must(w.tasks.Stop(t.Context()))
	first := served.Load()
	close(release)
	log := slog.New(slog.DiscardHandler)
	w.tasks = task.New(
		task.Deps{Store: w.db, Clock: w.clock, Log: log}, task.Options{SingleNode: true, Poll: 20 * time.Millisecond},
	)
	w.importer = importer.NewService(
		importer.Deps{Store: w.db, Sources: w.sources, Tasks: w.tasks, Clock: w.clock, Log: log},
		importer.Options{Scratch: t.TempDir(), Client: outbound.NewClient(outbound.Options{Private: true})},
	)
	w.tasks.Register(w.importer.Kind())
	w.must(w.tasks.Start(t.Context()))
	got := w.imported(src.ID)
	w.same("state", got.State, task.StateComplete)
	if got.Files.Total != all || got.Files.Done != all || got.Documents.Added+got.Files.Unchanged != all ||
		len(w.documents(src.ID)) != all {
		t.Errorf("got %+v %+v with %d documents", got.Files, got.Documents, len(w.documents(src.ID)))
	}
	if again := served.Load() - first; again >= all {
		t.Errorf("%d pages were fetched after the restart: what the journal has was done again", again)
	}
}

func TestAFileWithALongNameIsReadAndKeepsIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	name := strings.Repeat("ä", 190) + ".html" // longer than file systems allow
	got := w.put(name, "<p>A page without a title.")
	w.same("documents", got.Documents, importer.DocumentCounts{Added: 1})
	w.same("text", w.documents(w.upload.ID)[name], "A page without a title.")
}

func TestABucketIsReachedWhereTheInstallationAllowsIt(t *testing.T) {
	t.Parallel()
	b := newBucketFixture(t, func(n *source.New) { n.Settings.Prefix = "" })
	b.store.Put("a.txt", "one")
	b.same("documents", b.sync().Documents, importer.DocumentCounts{Added: 1})
	for _, asked := range b.store.Asked() {
		if strings.Contains(asked, s3fake.Secret) {
			t.Errorf("the secret was sent: %s", asked)
		}
	}
}
