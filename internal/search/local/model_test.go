package local

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/search"
	"carrel/internal/search/local/disk"
)

// TestIndexMatchesTheLogAfterRandomOperations runs random operations on an index in any order and compares it with the
// log.
func TestIndexMatchesTheLogAfterRandomOperations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(t, rt)
		defer func() { _ = m.ix.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"put": m.put, "put more": m.put, "delete": m.delete, "drop": m.drop,
			"read": m.read, "read more": m.read, "fill": m.fill, "fill more": m.fill,
			"merge": m.merge, "compact": m.compact, "reopen": m.reopen, "corrupt": m.corrupt, "search": m.search,
			"": func(rt *rapid.T) { checkHeld(rt, m.ix, m.memoryLog) },
		})
		for len(m.pending) > 0 {
			m.fill(rt)
		}
		catchUp(rt, m.ix, m.memoryLog)
		checkComplete(rt, m.ix, m.memoryLog)
		checkSearch(rt, m.ix, m.memoryLog, t.TempDir())
		if s := m.ix.current; len(s.deletions) > 0 {
			rt.Fatalf("graves are kept though nothing is missing: %v", s.deletions)
		}
		m.reopen(rt)
		checkComplete(rt, m.ix, m.memoryLog)
		if r, err := Check(context.Background(), m.dir); err != nil || len(m.memoryLog.entries) > 0 && len(r.Problems) > 0 {
			rt.Fatalf("check: %v, %v", r.Problems, err)
		}
	})
}

// machine is an index, the database that it follows, and the spans that were read from the log but not applied.
type machine struct {
	dir       string
	memoryLog *memoryLog
	ix        *Index
	pending   []reading
	hook      *hookFS
}

type reading struct {
	span    search.Span
	changes []search.Change
}

func newMachine(t *testing.T, rt *rapid.T) *machine {
	m := &machine{dir: t.TempDir(), memoryLog: newMemoryLog(), hook: &hookFS{FS: disk.OS}}
	m.open(rt)
	return m
}

func (m *machine) open(rt *rapid.T) {
	ix, err := Open(m.dir, Options{FS: m.hook, Log: quiet})
	if err != nil {
		rt.Fatalf("open: %v", err)
	}
	ix.policy = policy{factor: 3, floor: 1 << 12, maxBytes: 1 << 30, maxUnits: 40, maxDeleted: 0.3}
	m.ix = ix
}

var (
	anyID     = rapid.SampledFrom([]string{"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9"})
	anySource = rapid.SampledFrom([]string{"A", "B", "C"})
	anyWord   = rapid.SampledFrom([]string{"w1", "w2", "w3", "w4", "w5", "w6", "the", "who"})
)

// sourceOfID returns the source of a document, which never changes: a document that moved would survive the drop of its
// source.
func sourceOfID(id string) string { return string('A' + id[1]%3) }

func (m *machine) put(rt *rapid.T) {
	words := rapid.SliceOfN(anyWord, 1, 6).Draw(rt, "words")
	id := anyID.Draw(rt, "id")
	d := note(id, sourceOfID(id), words...)
	if rapid.Bool().Draw(rt, "authored") {
		d.Authors = []string{"w7 w8", strings.Join(words, " ")}
	}
	m.memoryLog.put(d)
}

func (m *machine) delete(rt *rapid.T) { m.memoryLog.delete(anyID.Draw(rt, "id")) }

func (m *machine) drop(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "really") == 0 {
		m.memoryLog.drop(anySource.Draw(rt, "source"))
	}
}

// read reads a part of the missing changes, to be applied later.
func (m *machine) read(rt *rapid.T) {
	var free []search.Span
	for _, gap := range m.ix.gaps(m.memoryLog.head) {
		for seq := gap.After + 1; seq <= gap.Through; seq++ {
			if slices.ContainsFunc(m.pending, func(r reading) bool { return r.span.Contains(seq) }) {
				continue
			}
			if n := len(free); n > 0 && free[n-1].Through == seq-1 {
				free[n-1].Through = seq
			} else {
				free = append(free, span(seq-1, seq))
			}
		}
	}
	if len(free) == 0 {
		rt.Skip("nothing is missing")
	}
	s := rapid.SampledFrom(free).Draw(rt, "span")
	s.After = rapid.Uint64Range(s.After, s.Through-1).Draw(rt, "after")
	s.Through = rapid.Uint64Range(s.After+1, s.Through).Draw(rt, "through")
	m.pending = append(m.pending, reading{s, m.memoryLog.read(s)})
}

func (m *machine) fill(rt *rapid.T) {
	if len(m.pending) == 0 {
		rt.Skip("nothing was read")
	}
	i := rapid.IntRange(0, len(m.pending)-1).Draw(rt, "which")
	r := m.pending[i]
	m.pending = slices.Delete(m.pending, i, i+1)
	if err := m.ix.Apply(context.Background(), r.span, r.changes); err != nil {
		rt.Fatalf("fill: %v", err)
	}
}

// merge merges adjacent parts while spans are applied.
func (m *machine) merge(rt *rapid.T) {
	busy := rapid.Bool().Draw(rt, "busy")
	m.hook.created = func(path string) {
		m.hook.created = nil
		if busy && strings.HasSuffix(path, segmentSuffix) && len(m.pending) > 0 {
			m.fill(rt)
		}
	}
	defer func() { m.hook.created = nil }()
	_, err := m.ix.merge(context.Background(), func(parts []*part, busy map[uint64]bool) []*part {
		runs := m.ix.policy.runs(parts, busy)
		if len(runs) == 0 {
			return nil
		}
		run := rapid.SampledFrom(runs).Draw(rt, "run")
		from := rapid.IntRange(0, len(run)-1).Draw(rt, "from")
		return run[from:rapid.IntRange(from+1, len(run)).Draw(rt, "to")]
	})
	if err != nil {
		rt.Fatalf("merge: %v", err)
	}
	if _, err := m.ix.Merge(context.Background()); err != nil {
		rt.Fatalf("merge: %v", err)
	}
}

func (m *machine) compact(rt *rapid.T) {
	if err := m.ix.Compact(context.Background()); err != nil {
		rt.Fatalf("compact: %v", err)
	}
}

// search makes the index compute statistics, from which later deletions are subtracted.
func (m *machine) search(rt *rapid.T) {
	q := search.Query{Text: anyWord.Draw(rt, "word"), Sources: []string{"A", "B", "C"}, Limit: 3, Facets: true}
	if _, err := m.ix.Search(context.Background(), q); err != nil {
		rt.Fatalf("search: %v", err)
	}
}

func (m *machine) reopen(rt *rapid.T) {
	if err := m.ix.Close(); err != nil {
		rt.Fatalf("close: %v", err)
	}
	m.open(rt)
	m.checkFolder(rt)
}

// checkFolder finds files that are not used.
func (m *machine) checkFolder(rt *rapid.T) {
	want := map[string]bool{manifestName: true}
	for _, p := range m.ix.current.files() {
		want[filepath.Base(p.file.path)] = true
		want[filepath.Base(tombstonePath(m.dir, p.tombstones))] = true
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		rt.Fatalf("read folder: %v", err)
	}
	for _, e := range entries {
		if !want[e.Name()] {
			rt.Fatalf("%s is left in the folder", e.Name())
		}
	}
}

// corrupt changes one byte of a file, or truncates it there, while the index is closed.
func (m *machine) corrupt(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "really") > 0 {
		rt.Skip("not now")
	}
	if err := m.ix.Close(); err != nil {
		rt.Fatalf("close: %v", err)
	}
	names, _ := filepath.Glob(filepath.Join(m.dir, "*"))
	if len(names) > 0 {
		spoil(
			rt, rapid.SampledFrom(names).Draw(rt, "file"), rapid.Bool().Draw(rt, "cut"),
			rapid.Float64Range(0, 1).Draw(rt, "place"),
		)
	}
	m.open(rt)
}

// spoil changes or truncates a file.
func spoil(t fatal, path string, cut bool, place float64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	if len(data) == 0 {
		return
	}
	at := min(int(place*float64(len(data))), len(data)-1)
	if cut {
		data = data[:at]
	} else {
		data[at] ^= 0x55
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatalf("write %s: %v", path, err)
	}
}
