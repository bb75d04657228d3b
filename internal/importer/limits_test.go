package importer_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel/internal/format/budget"
	"carrel/internal/importer"
	"carrel/internal/outbound"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit/hostile"
)

func TestAFileOverALimitIsReportedWithTheLimitItsValueAndTheSetting(t *testing.T) {
	t.Parallel()
	limits := budget.Default
	limits.Unpacked, limits.Entries = 32<<20, 1000
	w := newFixtureWith(t, nil, func(o *importer.Options) { o.Limits.Limits = limits })
	const advice = "; split it, or ask the operator to raise the setting "
	for _, c := range hostile.Cases() {
		want, is := map[string]string{
			"newlines.zip": "The file unpacks to more than 32 MiB, the limit for its size" + advice +
				"import-unpacked-mib.",
			"parts.docx": "The file holds more than 1,000 files" + advice + "import-entries.",
			"spaces.pdf": "spaces.pdf: needs more than 48 MiB of memory to read, the limit for its size" + advice +
				"import-memory-mib",
		}[c.File]
		if !is {
			continue
		}
		data := c.Make()
		if c.File == "parts.docx" {
			data = hostile.ManyParts(5000) // the original case exceeds MaxUpload
		}
		i := w.put(c.File, string(data))
		w.same(c.File+": failed", i.Files.Failed, 1)
		if len(i.Errors) != 1 || i.Errors[0].Reason != want {
			t.Errorf("%s: %+v, want %q", c.File, i.Errors, want)
		}
	}
	// A hostile file does not affect later imports.
	w.same("added", w.put("good.txt", "A text.").Documents.Added, 1)
}

func TestImportsOverTheLimitWaitAndAreShownAsWaiting(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			asked <- struct{}{}
			<-answer
		}
		rw.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprint(rw, "A page.")
	}))
	t.Cleanup(site.Close)
	w := newFixtureWith(
		t, outbound.NewClient(outbound.Options{Private: true}),
		func(o *importer.Options) { o.PerUser, o.PerNode = 1, 4 },
	)
	var sources []string
	for _, name := range []string{"First", "Second", "Third"} {
		src, err := w.sources.Add(t.Context(), w.actor, w.agent, source.New{
			Name: name, Kind: source.KindWeb, Settings: source.Settings{URLs: []string{site.URL + "/" + name}},
		})
		w.must(err)
		_, err = w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
		w.must(err)
		sources = append(sources, src.ID)
	}
	<-asked // one import is running and blocked
	states := map[task.State]int{}
	for _, id := range sources {
		imports, err := w.importer.Imports(t.Context(), w.actor, w.agent, id)
		w.must(err)
		states[imports[0].State]++
	}
	w.same("running", states[task.StateRunning], 1)
	w.same("waiting", states[task.StateQueued], 2)
	close(answer)
	for _, id := range sources {
		i := w.imported(id)
		w.same("state", i.State, task.StateComplete)
		w.same("added", i.Documents.Added, 1)
	}
}

func TestAFeedOfMillionsOfEntriesIsReadUpToItsLimit(t *testing.T) {
	t.Parallel()
	bombs := map[string]string{
		"/json": `{"version":"https://jsonfeed.org/version/1.1","items":[{}` + strings.Repeat(",{}", 5<<20) + "]}",
		"/rss":  `<rss><channel><item` + strings.Repeat(` a=""`, 3<<20) + `/></channel></rss>`,
	}
	site := httptest.NewServer(
		http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(rw, bombs[r.URL.Path]) }),
	)
	t.Cleanup(site.Close)
	w := newFixture(t)
	for path, failed := range map[string]int{"/json": 0, "/rss": 1} {
		src, err := w.sources.Add(t.Context(), w.actor, w.agent, source.New{
			Name: path, Kind: source.KindFeed, Settings: source.Settings{URL: site.URL + path},
		})
		w.must(err)
		_, err = w.importer.Sync(t.Context(), w.actor, w.agent, src.ID)
		w.must(err)
		i := w.imported(src.ID)
		w.same(path+": failed", i.Files.Failed, failed)
		w.same(path+": added", i.Documents.Added, 0)
	}
}
