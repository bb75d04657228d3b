package local

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"carrel/internal/search"
	"carrel/internal/search/analysis"
)

// memoryLog is an in-memory database of documents with its change log.
type memoryLog struct {
	mu      sync.Mutex
	head    uint64
	entries map[string]search.Change // by document id, or source id for Drop
}

func newMemoryLog() *memoryLog { return &memoryLog{entries: make(map[string]search.Change)} }

func (w *memoryLog) put(d search.Document) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head++
	w.entries[d.ID] = search.Change{Seq: w.head, Op: search.Put, ID: d.ID, Document: d}
}

func (w *memoryLog) delete(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.entries[id].Op != search.Put {
		return
	}
	w.head++
	w.entries[id] = search.Change{Seq: w.head, Op: search.Delete, ID: id}
}

func (w *memoryLog) drop(source string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(
		w.entries, func(_ string, c search.Change) bool { return c.Op == search.Put && c.Document.SourceID == source },
	)
	w.head++
	w.entries["source "+source] = search.Change{Seq: w.head, Op: search.Drop, ID: source}
}

func (w *memoryLog) Head(context.Context) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.head, nil
}

func (w *memoryLog) Changes(_ context.Context, after, through uint64, limit int) ([]search.Change, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []search.Change
	for _, c := range w.entries {
		if after < c.Seq && c.Seq <= through {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b search.Change) int { return cmp.Compare(a.Seq, b.Seq) })
	return out[:min(limit, len(out))], nil
}

func (w *memoryLog) read(s search.Span) []search.Change {
	changes, _ := w.Changes(context.Background(), s.After, s.Through, 1<<30)
	return changes
}

// version identifies a version of a document and its source.
type version struct {
	seq    uint64
	source string
}

// documents returns the documents that an up-to-date index holds.
func (w *memoryLog) documents() map[string]version {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[string]version)
	for id, c := range w.entries {
		if c.Op == search.Put {
			out[id] = version{c.Seq, c.Document.SourceID}
		}
	}
	return out
}

// frequencies returns the number of passages of each source that hold each term, and of all passages under "".
func (w *memoryLog) frequencies() map[[2]string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[[2]string]int)
	for _, c := range w.entries {
		if c.Op != search.Put {
			continue
		}
		d := c.Document
		a := analysis.New(d.Language)
		for _, p := range analysis.Passages(d.Text) {
			seen := map[string]bool{"": true}
			for _, name := range append([]string{d.Title}, d.Authors...) {
				var extra analysis.Extra
				for token := range a.Tokens(name) {
					extra.Add(token)
					if token.Stop {
						seen["\x01"+token.Term] = true
					} else {
						seen[token.Term] = true
					}
				}
				for _, term := range extra.Terms {
					seen[term] = true
				}
			}
			var extra analysis.Extra
			for token := range a.Tokens(p.Of(d.Text)) {
				extra.Add(token)
				if !token.Stop {
					seen[token.Term] = true
				}
			}
			for _, term := range extra.Terms {
				seen[term] = true
			}
			for term := range seen {
				out[[2]string{d.SourceID, term}]++
			}
		}
	}
	return out
}

// fatal is implemented by the tests of rapid and of the standard library.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// held returns the documents of the index, and fails if one is there twice. Damaged segments are dropped.
func held(t fatal, ix *Index) map[string]version {
	t.Helper()
	for {
		s, err := ix.acquireCurrent()
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		out, err := s.held(t)
		dropped := isDamage(err) && ix.dropDamaged(context.Background(), s)
		s.release()
		if err == nil {
			return out
		}
		if !dropped {
			t.Fatalf("read the index: %v", err)
		}
	}
}

func (s *snapshot) held(t fatal) (map[string]version, error) {
	t.Helper()
	out := make(map[string]version)
	for _, p := range s.files() {
		for doc := range uint32(p.file.Documents()) {
			if p.deleted.Get(doc) {
				continue
			}
			id, err := p.file.ID(doc)
			if err != nil {
				return nil, err
			}
			if _, twice := out[id]; twice {
				t.Fatalf("document %s is held twice", id)
			}
			if !p.span.Contains(p.file.Seq(doc)) {
				t.Fatalf("document %s has number %d, outside of its segment's %v", id, p.file.Seq(doc), p.span)
			}
			out[id] = version{p.file.Seq(doc), sourceOf(p.file.Sources(), doc)}
		}
	}
	return out, nil
}

// heldFrequencies returns the statistics of the index in the form of memoryLog.frequencies.
func heldFrequencies(t fatal, ix *Index) map[[2]string]int {
	t.Helper()
	s, err := ix.acquireCurrent()
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	defer s.release()
	out := make(map[[2]string]int)
	for _, p := range s.files() {
		of := p.file.DocOf()
		count := func(term string, units []uint32) {
			for _, unit := range units {
				if !p.deleted.Get(of[unit]) {
					out[[2]string{sourceOf(p.file.Sources(), of[unit]), term}]++
				}
			}
		}
		for unit := range uint32(p.file.Units()) {
			count("", []uint32{unit})
		}
		for ord := range uint32(p.file.Terms()) {
			text, term, err := p.file.Term(ord)
			if err != nil {
				t.Fatalf("read a term: %v", err)
			}
			postings, err := p.file.Postings(term)
			if err != nil {
				t.Fatalf("read postings: %v", err)
			}
			count(text, postings.Units)
		}
	}
	return out
}

// catchUp applies everything that is missing.
func catchUp(t fatal, ix *Index, w *memoryLog) {
	t.Helper()
	for {
		span, missing := ix.Missing(w.head)
		if !missing {
			return
		}
		if err := ix.Apply(context.Background(), span, w.read(span)); err != nil {
			t.Fatalf("fill %v: %v", span, err)
		}
	}
}

// checkHeld compares the index with the database: covered documents are held in their latest version, and deleted ones
// are not.
func checkHeld(t fatal, ix *Index, w *memoryLog) {
	t.Helper()
	got := held(t, ix)
	spans := ix.Status().Covered
	covers := func(seq uint64) bool {
		return slices.ContainsFunc(spans, func(s search.Span) bool { return s.Contains(seq) })
	}
	for _, c := range w.entries {
		if !covers(c.Seq) {
			continue
		}
		switch c.Op {
		case search.Put:
			if want := (version{c.Seq, c.Document.SourceID}); got[c.ID] != want {
				t.Fatalf("document %s is %v, want %v; covered %v", c.ID, got[c.ID], want, spans)
			}
		case search.Delete:
			if v, ok := got[c.ID]; ok {
				t.Fatalf("document %s was deleted by %d and is held as of %d", c.ID, c.Seq, v.seq)
			}
		case search.Drop:
			for id, v := range got {
				if v.source == c.ID && v.seq < c.Seq {
					t.Fatalf("document %s is held as of %d, its source was dropped by %d", id, v.seq, c.Seq)
				}
			}
		}
	}
}

// checkComplete compares an index that has caught up with the database, including its counts.
func checkComplete(t fatal, ix *Index, w *memoryLog) {
	t.Helper()
	got, want := held(t, ix), w.documents()
	if !maps.Equal(got, want) {
		t.Fatalf("index holds %v, want %v", got, want)
	}
	if got, want := heldFrequencies(t, ix), w.frequencies(); !maps.Equal(got, want) {
		t.Fatalf("statistics are %v, want %v", got, want)
	}
	stats := ix.Status()
	sources, units := make(map[string]int), 0
	for _, v := range want {
		sources[v.source]++
	}
	for key, n := range w.frequencies() {
		if key[1] == "" {
			units += n
		}
	}
	if stats.Documents != len(want) || stats.Passages != units || !maps.Equal(stats.Sources, sources) {
		t.Fatalf("stats are %+v, want %d documents, %d units, sources %v", stats, len(want), units, sources)
	}
	if len(w.entries) > 0 && !slices.Equal(stats.Covered, []search.Span{span(0, w.head)}) {
		t.Fatalf("covered are %v, want all up to %d", stats.Covered, w.head)
	}
}

// checkSearch compares search results with those of an index that was built in one step.
func checkSearch(t fatal, ix *Index, w *memoryLog, dir string) {
	t.Helper()
	fresh, err := Open(dir, Options{Log: quiet})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() { _ = fresh.Close() }()
	catchUp(t, fresh, w)
	for _, text := range []string{"w1", "w2 w3", "w1 w4 w5", "the", `author:w7`} {
		q := search.Query{Text: text, Sources: []string{"A", "B", "C"}, Limit: 5, Facets: true}
		got, err := ix.Search(context.Background(), q)
		if err != nil {
			t.Fatalf("search: %v", err)
		}
		want, err := fresh.Search(context.Background(), q)
		if err != nil {
			t.Fatalf("search: %v", err)
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Fatalf("search for %s finds\n%+v, want\n%+v", text, got, want)
		}
	}
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// open opens an index that is closed when the test ends.
func open(t testing.TB, dir string, o Options) *Index {
	t.Helper()
	if o.Log == nil {
		o.Log = quiet
	}
	ix, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	return ix
}

// fill applies the present changes of a span.
func fill(t testing.TB, ix *Index, w *memoryLog, s search.Span) {
	t.Helper()
	if err := ix.Apply(context.Background(), s, w.read(s)); err != nil {
		t.Fatal(err)
	}
}

// note returns a document with few words.
func note(id, source string, words ...string) search.Document {
	return search.Document{ID: id, SourceID: source, Title: words[0], Text: strings.Join(words[1:], " ")}
}

func span(after, through uint64) search.Span { return search.Span{After: after, Through: through} }
