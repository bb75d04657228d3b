package source_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/search"
	"carrel/internal/source"
)

func TestSearchUsesTheLanguageOfTheSource(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	src, err := w.SetLanguage(ctx, w.ada, w.library(t), "de")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Import(ctx, w.ada, src, documents(3, "x", nil), nil); err != nil {
		t.Fatal(err)
	}
	got, err := w.Search(ctx, w.ada, w.agent, search.Query{
		Text: " relational 1 ", Limit: 2, FromYear: 1960, ToYear: 1980, Facets: true,
	})
	if err != nil || len(got.Cards) != 2 || got.Cards[0].ExternalID != "1" {
		t.Errorf("found %+v, %v", got.Cards, err)
	}
	want := search.Query{
		Text: "relational 1", Language: "de", Sources: []string{src.ID}, Limit: 2, FromYear: 1960, ToYear: 1980, Facets: true,
	}
	if fmt.Sprint(w.engine.query) != fmt.Sprint(want) {
		t.Errorf("the engine got %+v, want %+v", w.engine.query, want)
	}
}

func TestSnippetIsCutFromTheBestPassage(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	text := strings.Repeat("Nothing of interest. ", 200) +
		"\n\nA tuple is a row.\n\n" + strings.Repeat("Nothing more. ", 300)
	if _, err := w.Import(ctx, w.ada, w.library(t), documents(1, text, nil), nil); err != nil {
		t.Fatal(err)
	}
	got, err := w.Search(ctx, w.ada, w.agent, search.Query{Text: "tuple"})
	if err != nil || len(got.Cards) != 1 {
		t.Fatalf("found %+v, %v", got.Cards, err)
	}
	at := strings.Index(text, "tuple")
	s := got.Cards[0].Snippet
	if s.Start == 0 || s.Start > at || s.End <= at || !strings.Contains(s.Text, "A tuple is a row.") {
		t.Errorf("the snippet is %+v", s)
	}
}

func TestCorrectedQueryIsReportedAndHighlighted(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	if _, err := w.Import(ctx, w.ada, w.library(t), documents(1, "The relational model.", nil), nil); err != nil {
		t.Fatal(err)
	}
	w.engine.embeddingFailed = true
	got, err := w.Search(ctx, w.ada, w.agent, search.Query{Text: "relatoinal"})
	if err != nil || got.Corrected != "relational" || len(got.Warnings) != 1 ||
		got.Warnings[0].Code != source.WarnEmbeddingsUnavailable {
		t.Fatalf("answered %+v, %v", got, err)
	}
	s := got.Cards[0].Snippet
	if w.engine.query.Text != "relatoinal" || len(s.Highlights) != 1 || s.Highlights[0].Start != 4 {
		t.Errorf("searched for %q and highlighted %+v", w.engine.query.Text, s)
	}
}

func TestSearchWarnsThatOnlyWordsAreFound(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	if _, err := w.Import(ctx, w.ada, w.library(t), documents(1, "The relational model.", nil), nil); err != nil {
		t.Fatal(err)
	}
	w.engine.wordsOnly = true
	got, err := w.Search(ctx, w.ada, w.agent, search.Query{Text: "relational"})
	if err != nil || len(got.Cards) != 1 || len(got.Warnings) != 1 || got.Warnings[0].Code != source.WarnWordsOnly {
		t.Errorf("answered %+v, %v", got, err)
	}
}

func TestSearchWarnsOfUnindexedDocuments(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	src := w.library(t)
	if _, err := w.Import(ctx, w.ada, src, documents(1200, "x", nil), nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		indexed int
		status  string
		shown   int
		detail  string
	}{
		{-1, "ready", 1200, ""},
		{0, "indexing", 0, "0 of 1,200 documents are indexed so far; results are partial."},
		{1199, "indexing", 1199, "1,199 of 1,200 documents are indexed so far; results are partial."},
		{1200, "ready", 1200, ""},
		{1201, "ready", 1200, ""}, // a deleted document is still in the index
	} {
		w.engine.indexed = c.indexed
		if n, status := w.Progress(src.ID, 1200); n != c.shown || status != c.status {
			t.Errorf("%d indexed: %d, %s", c.indexed, n, status)
		}
		got, err := w.Search(ctx, w.ada, w.agent, search.Query{Text: "relational", Facets: true})
		var want []source.Warning
		if c.detail != "" {
			want = []source.Warning{{SourceID: src.ID, Code: "index_incomplete", Detail: c.detail}}
		}
		if err != nil || !slices.Equal(got.Warnings, want) {
			t.Errorf("%d indexed: warned of %+v, %v", c.indexed, got.Warnings, err)
		}
	}
}

func TestSearchWarnsOfDocumentsLostToDamage(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	if _, err := w.Import(ctx, w.ada, w.library(t), documents(3, "x", nil), nil); err != nil {
		t.Fatal(err)
	}
	w.engine.indexed, w.engine.lost = 3, 1
	got, err := w.Search(ctx, w.ada, w.agent, search.Query{Text: "relational", Facets: true})
	if err != nil || len(got.Warnings) != 1 ||
		got.Warnings[0].Detail != "2 of 3 documents are indexed so far; results are partial." {
		t.Errorf("warned of %+v, %v", got.Warnings, err)
	}
}

func TestSearchesAreCountedByUserAndDay(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	day := func() string { return w.clock.Now().Format(time.DateOnly) }
	searchTimes := func(times int) {
		t.Helper()
		for range times {
			if _, err := w.Search(ctx, w.ada, w.agent, search.Query{Text: "q", Facets: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	flush := func() {
		t.Helper()
		if err := w.FlushSearches(ctx); err != nil {
			t.Fatal(err)
		}
	}
	first := day()
	searchTimes(3)
	if _, err := w.Search(ctx, w.ada, w.agent, search.Query{Facets: true}); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("a bad search: %v", err)
	}
	flush()
	flush() // adds nothing
	searchTimes(2)
	w.clock.Advance(24 * time.Hour)
	searchTimes(1)
	// Counts that could not be stored are stored by the next flush.
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := w.FlushSearches(cancelled); err == nil {
		t.Error("flushed with a cancelled context")
	}
	searchTimes(1)
	flush()
	for d, want := range map[string]int{first: 5, day(): 2} {
		if n, err := w.db.SearchesOf(ctx, w.ada.UserID, d); err != nil || n != want {
			t.Errorf("%d searches on %s, %v; want %d", n, d, err, want)
		}
	}
	if n, err := w.db.SearchesOf(ctx, w.bob.UserID, first); err != nil || n != 0 {
		t.Errorf("another user searched %d times, %v", n, err)
	}
}

func TestLanguageIsDetectedOnce(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	src := w.library(t)
	if src.Language != "" {
		t.Fatalf("a new source is in %q", src.Language)
	}
	if _, err := w.Import(ctx, w.ada, src, documents(0, "", nil), nil); err != nil || len(w.sampled) != 0 {
		t.Errorf("a guess without documents: %q, %v", w.sampled, err)
	}
	long := ""
	for len(long) < 5000 {
		long += "ä"
	}
	w.guess = "de"
	if _, err := w.Import(ctx, w.ada, src, documents(600, long, nil), nil); err != nil {
		t.Fatal(err)
	}
	// The language of each document is detected from its beginning, that of the source from many documents.
	long = ""
	for _, sample := range w.sampled {
		if len(sample) > 2000 {
			long += sample
		}
	}
	if got := w.library(t).Language; got != "de" || len(w.sampled) != 601 {
		t.Errorf("guessed %q, %d times", got, len(w.sampled))
	}
	if n := len(long); n < 40_000 || n > 60_000 {
		t.Errorf("%d bytes were sampled", n)
	}
	w.guess = "fr"
	for _, stale := range []source.Source{w.library(t), src} { // the second was read before the language was detected
		if _, err := w.Import(ctx, w.ada, stale, documents(1, "nouveau", nil), nil); err != nil {
			t.Fatal(err)
		}
		if got := w.library(t).Language; got != "de" {
			t.Errorf("guessed again: %q", got)
		}
	}
}

func TestSetLanguage(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	w.guess = "en"
	made, err := w.AddOrFind(ctx, w.ada, w.agent, source.New{Name: "Papers", Language: "de"})
	if err != nil || made.Language != "de" {
		t.Fatalf("made %+v, %v", made, err)
	}
	if _, err := w.Import(ctx, w.ada, made, documents(2, "x", nil), nil); err != nil || len(w.sampled) != 2 {
		t.Errorf("the known language of a source was guessed: %v", err)
	}
	before, err := w.db.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []source.New{{Name: "Papers"}, {Name: "Papers", Language: "de"}} {
		if again, err := w.AddOrFind(ctx, w.ada, w.agent, n); err != nil || again.Language != "de" {
			t.Errorf("found %+v, %v", again, err)
		}
	}
	if head, err := w.db.Head(ctx); err != nil || head != before {
		t.Errorf("the same language again moved the log from %d to %d, %v", before, head, err)
	}
	again, err := w.AddOrFind(ctx, w.ada, w.agent, source.New{Name: "Papers", Language: "fr"})
	if err != nil || again.Language != "fr" {
		t.Errorf("set to %+v, %v", again, err)
	}
	if head, err := w.db.Head(ctx); err != nil || head != before+2 {
		t.Errorf("another language moved the log from %d to %d, %v; want the two documents in it again", before, head, err)
	}
	for _, code := range []string{"d", "deu", "DE", "d1", "日本"} {
		_, errAdd := w.AddOrFind(ctx, w.ada, w.agent, source.New{Name: "Other", Language: code})
		_, errSet := w.SetLanguage(ctx, w.ada, again, code)
		for _, err := range []error{errAdd, errSet} {
			if e := core.AsError(err); e.Kind != core.KindInvalid || e.Fields[0].Pointer != "/language" {
				t.Errorf("the language %q: %v", code, err)
			}
		}
	}
	deps := w.deps
	deps.Languages = []string{"de", "en"}
	listed := source.NewService(deps)
	_, err = listed.SetLanguage(ctx, w.ada, again, "fr")
	if e := core.AsError(err); e.Kind != core.KindInvalid || e.Fields[0].Detail != "Must be one of de, en." {
		t.Errorf("a language that is not listed: %v", err)
	}
	if _, err = listed.SetLanguage(ctx, w.ada, again, "en"); err != nil {
		t.Error(err)
	}
}

func TestHashIgnoresUnsetNewerFields(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	none, some := 0, 5
	put := func(d source.Document) source.Imported {
		t.Helper()
		d.ExternalID, d.Title = "1", "T"
		done, err := w.Import(ctx, w.ada, w.library(t), func(yield func(source.Document, error) bool) { yield(d, nil) }, nil)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	put(source.Document{})
	for d, err := range w.db.ScanDocuments(ctx, w.library(t).ID) {
		// The hash that versions without these fields stored.
		if sum := sha256.Sum256([]byte(`["T",null,"",0,"","","",""]`)); err != nil || !bytes.Equal(d.Hash, sum[:16]) {
			t.Errorf("a document without them has the hash %x, %v", d.Hash, err)
		}
	}
	if done := put(source.Document{}); done.Unchanged != 1 {
		t.Errorf("the same again: %+v", done)
	}
	for _, d := range []source.Document{
		{CitationCount: &none},
		{CitationCount: &some},
		{PublishedAt: "1970-06-01"},
		{OpenAccessURL: "https://a.example"},
		{Language: "de"},
		{},
	} {
		if done := put(d); done.Updated != 1 {
			t.Errorf("%+v: %+v", d, done)
		}
	}
}
