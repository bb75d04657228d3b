package segment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/search/local/disk"
)

// memory is an in-memory disk that can fail at any step.
type memory struct {
	files  map[string]*memoryFile
	steps  int
	failAt int             // step that fails, 0 for none
	onStep func(step int)  // or nil
	opened int             // open files
	synced map[string]bool // files synced after their last write
}

var errDisk = errors.New("disk failed")

func newMemory() *memory {
	return &memory{files: map[string]*memoryFile{}, synced: map[string]bool{}}
}

func (m *memory) step() error {
	m.steps++
	if m.onStep != nil {
		m.onStep(m.steps)
	}
	if m.failAt == m.steps {
		return errDisk
	}
	return nil
}

func (m *memory) Create(path string) (disk.File, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	m.opened++
	f := &memoryFile{memory: m, path: path}
	m.files[path] = f
	return f, nil
}

func (m *memory) Rename(string, string) error { panic("segments are not renamed here") }
func (m *memory) Remove(string) error         { panic("segments are not removed here") }
func (m *memory) SyncDir(string) error        { panic("folders are the caller's") }
func (m *memory) MkdirAll(string) error       { panic("folders are the caller's") }

type memoryFile struct {
	memory *memory
	path   string
	data   []byte
}

func (f *memoryFile) Write([]byte) (int, error) { panic("segments are written at places") }

func (f *memoryFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.memory.step(); err != nil {
		return 0, err
	}
	f.memory.synced[f.path] = false
	if need := int(at) + len(b); need > len(f.data) {
		f.data = append(f.data, make([]byte, need-len(f.data))...)
	}
	return copy(f.data[at:], b), nil
}

func (f *memoryFile) Sync() error {
	if err := f.memory.step(); err != nil {
		return err
	}
	f.memory.synced[f.path] = true
	return nil
}

func (f *memoryFile) Close() error {
	f.memory.opened--
	return f.memory.step()
}

// build returns the file of some documents.
func build(tb rapid.TB, o Options, docs []Document) []byte {
	tb.Helper()
	b := NewBuilder(o)
	for i := range docs {
		b.Add(&docs[i])
	}
	fs := newMemory()
	if err := b.Write(fs, "s"); err != nil {
		tb.Fatalf("write: %v", err)
	}
	return fs.files["s"].data
}

// aligned returns a copy that is aligned to 8 bytes, like a mapping.
func aligned(data []byte) []byte {
	out := bytesOf(make([]uint64, (len(data)+7)/8))[:len(data)]
	copy(out, data)
	return out
}

func mustOpen(tb rapid.TB, data []byte) *Segment {
	tb.Helper()
	s, err := open(aligned(data))
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	return s
}

// openFile opens a file with this content.
func openFile(tb testing.TB, data []byte) (*Segment, error) {
	tb.Helper()
	path := tb.TempDir() + "/segment"
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return Open(path)
}

// mergeAll returns the file that Merge writes.
func mergeAll(tb rapid.TB, inputs []Input) []byte {
	tb.Helper()
	fs := newMemory()
	if err := Merge(context.Background(), fs, "m", inputs); err != nil {
		tb.Fatalf("merge: %v", err)
	}
	return fs.files["m"].data
}

// surfaceOf is a Surface function with a readable form for some terms.
func surfaceOf(term string) string {
	if len(term)%2 == 0 {
		return ""
	}
	return term + "s"
}

// vocabulary includes prefixes of other terms, stop words, and other scripts.
var vocabulary = []string{
	"a", "ab", "abc", "b", "network", "networks", "neural", "\x01the", "\x01of", "\x01a", "日本", "本語", "é", "z", "zz",
	"\xff",
}

// someWords draws terms and, rarely, positions without a term.
func someWords(most int) *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.SampledFrom(append([]string{""}, vocabulary...)), 0, most)
}

// someDocs draws documents with distinct ids and seqs in any order.
func someDocs(dims int) *rapid.Generator[[]Document] {
	return rapid.Custom(func(t *rapid.T) []Document {
		n := rapid.IntRange(0, 12).Draw(t, "documents")
		seqs := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 1000), n, n, rapid.ID).Draw(t, "seqs")
		docs := make([]Document, n)
		for i := range docs {
			docs[i] = Document{
				ID:       fmt.Sprintf("doc-%d", seqs[i]),
				SourceID: rapid.SampledFrom([]string{"s1", "s2", "s10", "", "ü"}).Draw(t, "source"),
				Seq:      seqs[i],
				Year:     rapid.SampledFrom([]int{0, 1, 1999, 2024, 9999}).Draw(t, "year"),
				TitleKey: rapid.SampledFrom([]uint64{0, 1, 2, math.MaxUint64}).Draw(t, "title key"),
				DOIKey:   rapid.SampledFrom([]uint64{0, 0, 7, 8}).Draw(t, "DOI key"),
				Units:    rapid.SliceOfN(someUnit(dims), 0, 3).Draw(t, "units"),
			}
		}
		return docs
	})
}

func someUnit(dims int) *rapid.Generator[Unit] {
	return rapid.Custom(func(t *rapid.T) Unit {
		u := Unit{
			Title: someWords(4).Draw(t, "title"), Authors: someWords(3).Draw(t, "authors"), Text: someWords(20).Draw(t, "text"),
		}
		if rapid.Bool().Draw(t, "long") {
			u.Text = append(u.Text, slices.Repeat([]string{"abc"}, rapid.IntRange(240, 300).Draw(t, "repeated"))...)
		}
		if dims > 0 && rapid.Bool().Draw(t, "embedded") {
			u.Vector = rapid.SliceOfN(rapid.Float32Range(-2, 2), dims, dims).Draw(t, "vector")
		}
		return u
	})
}

// inOrder sorts documents in the order of a segment.
func inOrder(docs []Document) []Document {
	return slices.SortedFunc(slices.Values(docs), func(a, b Document) int {
		return cmp.Or(strings.Compare(a.SourceID, b.SourceID), cmp.Compare(a.Seq, b.Seq))
	})
}

// posting is a posting of the model.
type posting struct {
	unit uint32
	freq uint8
}

// model computes the expected content of a segment naively.
type model struct {
	docs    []Document // in order
	units   []Unit
	docOf   []uint32
	firsts  []uint32
	lengths []uint32
	terms   map[string][]posting
}

func newModel(docs []Document) *model {
	m := &model{docs: inOrder(docs), terms: map[string][]posting{}, firsts: []uint32{0}}
	for i, d := range m.docs {
		for _, u := range d.Units {
			m.add(uint32(i), u)
		}
		m.firsts = append(m.firsts, uint32(len(m.units)))
	}
	return m
}

func (m *model) add(doc uint32, u Unit) {
	freqs := map[string]int{}
	length := 0
	for i, field := range [][]string{u.Title, u.Authors, u.Text} {
		weight := []int{3, 1, 1}[i]
		for _, term := range field {
			if term == "" {
				continue
			}
			freqs[term] += weight
			if i != 1 && !strings.HasPrefix(term, "\x01") {
				length += weight
			}
		}
	}
	for term, freq := range freqs {
		m.terms[term] = append(m.terms[term], posting{uint32(len(m.units)), uint8(min(freq, 255))})
	}
	m.units = append(m.units, u)
	m.docOf = append(m.docOf, doc)
	m.lengths = append(m.lengths, uint32(length))
}

// dictionary returns the terms in order.
func (m *model) dictionary() []string { return slices.Sorted(maps.Keys(m.terms)) }

func (m *model) withKey(of func(Document) uint64, key uint64) []uint32 {
	var docs []uint32
	for i, d := range m.docs {
		if of(d) == key {
			docs = append(docs, uint32(i))
		}
	}
	return docs
}

func equal[T comparable](tb rapid.TB, what string, got, want []T) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// sameBytes compares files section by section, so that a failure names the section.
func sameBytes(tb rapid.TB, got, want []byte) {
	tb.Helper()
	if bytes.Equal(got, want) {
		return
	}
	a, b := mustOpen(tb, got), mustOpen(tb, want)
	for i := range a.sections {
		if !bytes.Equal(a.sections[i].data, b.sections[i].data) {
			tb.Fatalf("%v differ:\n%x\n%x", sectionID(i), a.sections[i].data, b.sections[i].data)
		}
	}
	tb.Fatalf("files differ, their sections do not")
}
