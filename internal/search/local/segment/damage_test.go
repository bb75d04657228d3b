package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// answers calls every method of a segment. A line is "error" if the result is an error about damage.
func answers(tb testing.TB, s *Segment) []string {
	tb.Helper()
	var out []string
	say := func(err error, format string, args ...any) {
		if err == nil {
			out = append(out, fmt.Sprintf(format, args...))
			return
		}
		if !errors.Is(err, ErrDamaged) {
			tb.Fatalf("an error of another kind: %v", err)
		}
		out = append(out, "error")
	}
	model, dims := s.Model()
	say(nil, "%d %d %d %q %d %+v", s.Units(), s.Documents(), s.Terms(), model, dims, s.Sources())
	say(nil, "%v %v %v %v", s.Lengths(), s.Years(), s.DocOf(), s.FirstUnits())
	for _, term := range append(vocabulary, "missing") {
		t, ok, err := s.Lookup(term)
		say(err, "%q %+v %v", term, t, ok)
	}
	for ord := range uint32(min(s.Terms(), 100)) {
		name, t, err := s.Term(ord)
		say(err, "%q %+v", name, t)
		surface, err := s.Surface(ord)
		say(err, "%q", surface)
		p, err := s.Postings(t)
		if t == (Term{}) {
			continue // the term could not be read
		}
		say(err, "%+v", p)
		for _, u := range p.Units {
			_ = s.Lengths()[u] // as a caller would
		}
	}
	for unit := range uint32(min(s.Units(), 100)) {
		var f Forward
		err := s.Forward(unit, &f)
		say(err, "%+v", f)
	}
	for doc := range uint32(min(s.Documents(), 100)) {
		id, err := s.ID(doc)
		say(err, "%d %q", s.Seq(doc), id)
	}
	for key := range uint64(9) {
		doc, ok, err := s.FindID(fmt.Sprintf("doc-%d", key))
		say(err, "%d %v", doc, ok)
		docs, err := s.FindTitle(key)
		say(err, "%v", docs)
		docs, err = s.FindDOI(key)
		say(err, "%v", docs)
	}
	v, err := s.Vectors()
	say(err, "%+v", v)
	for unit := range v.Scales {
		bytes, err := s.Vector(uint32(unit))
		say(err, "%v", bytes)
	}
	return out
}

// small is a file with some content in every section.
func small(tb testing.TB) []byte {
	tb.Helper()
	docs := []Document{
		{ID: "doc-1", SourceID: "s2", Seq: 1, Year: 1999, TitleKey: 1, DOIKey: 2, Units: []Unit{
			{
				Title: []string{"neural", "network"}, Authors: []string{"abc"}, Text: []string{"a", "", "b"},
				Vector: []float32{1, -2, 3},
			},
			{Title: []string{"neural", "network"}, Text: []string{"z"}},
		}},
		{
			ID: "doc-2", SourceID: "s1", Seq: 2, TitleKey: 1, DOIKey: 3,
			Units: []Unit{{Title: []string{"\x01the", "a"}, Text: []string{"日本"}}},
		},
		{
			ID: "doc-3", SourceID: "s1", Seq: 3, Year: 2024, TitleKey: 5,
			Units: []Unit{{Text: []string{"a", "a"}, Vector: []float32{0, 1, 0}}},
		},
	}
	return build(tb, Options{Model: "m", Dims: 3, Surface: surfaceOf}, docs)
}

// changes yields the ways in which a byte is corrupted.
var changes = []byte{0x01, 0x80, 0xff}

func TestEveryBadByteIsNoticed(t *testing.T) {
	t.Parallel()
	data := small(t)
	want := answers(t, mustOpen(t, data))
	if slices.Contains(want, "error") {
		t.Fatal("a good file gives errors")
	}
	bad := aligned(data)
	for at := range bad {
		for _, change := range changes {
			bad[at] = data[at] ^ change
			checkBad(t, fmt.Sprintf("byte %d ^ %#x", at, change), bad, want)
		}
		bad[at] = data[at]
	}
}

// checkBad checks that a corrupted file gives the right results or errors, and fails Verify.
func checkBad(tb testing.TB, what string, bad []byte, want []string) {
	tb.Helper()
	s, err := open(bad)
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			tb.Fatalf("%s: an error of another kind: %v", what, err)
		}
		return
	}
	got := answers(tb, s)
	if len(got) > len(want) {
		tb.Fatalf("%s: more answers than the good file gives", what)
	}
	rest := want
	for _, line := range got {
		if line == "error" {
			continue
		}
		i := slices.Index(rest, line)
		if i < 0 {
			tb.Fatalf("%s: a wrong answer: %s", what, line)
		}
		rest = rest[i+1:]
	}
	if err := s.Verify(); !errors.Is(err, ErrDamaged) {
		tb.Fatalf("%s: verify says %v", what, err)
	}
}

func TestEveryTruncationIsNoticed(t *testing.T) {
	t.Parallel()
	data := small(t)
	for n := range data {
		if _, err := open(aligned(data[:n])); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(data), err)
		}
	}
	for n := range 70 {
		if _, err := open(aligned(append(slices.Clone(data), make([]byte, n+1)...))); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes more: %v", n+1, err)
		}
	}
	if _, err := open(aligned(append(slices.Clone(data), data...))); !errors.Is(err, ErrDamaged) {
		t.Fatalf("twice the file: %v", err)
	}
}

// reseal recomputes all checksums, like an attacker would.
func reseal(data []byte) {
	table, sums, err := readFooter(data)
	if err != nil {
		return
	}
	at := len(data) - trailerSize - 4*len(sums)
	for _, e := range table {
		end := e.at + e.length
		if e.at > end || end > uint64(len(data)) {
			return
		}
		for page := e.at; page < end; page += pageSize {
			if at+4 > len(data)-trailerSize {
				return
			}
			binary.NativeEndian.PutUint32(data[at:], crc32.Checksum(data[page:min(page+pageSize, end)], castagnoli))
			at += 4
		}
	}
	sealFooter(data)
}

// sealFooter recomputes the checksum of the footer.
func sealFooter(data []byte) {
	trailer := data[len(data)-trailerSize:]
	length := binary.NativeEndian.Uint64(trailer)
	if length > uint64(len(data)-headerSize-trailerSize) {
		return
	}
	at := uint64(len(data)) - trailerSize - length
	binary.NativeEndian.PutUint32(trailer[12:], crc32.Checksum(data[at:at+length+12], castagnoli))
}

// exercise calls every method. It must not panic.
func exercise(tb testing.TB, data []byte) {
	tb.Helper()
	s, err := open(data)
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			tb.Fatalf("an error of another kind: %v", err)
		}
		return
	}
	answers(tb, s)
	if err := s.Verify(); err != nil && !errors.Is(err, ErrDamaged) {
		tb.Fatalf("verify: %v", err)
	}
	deleted := NewBits(s.Documents())
	if s.Documents() > 1 {
		deleted.Set(1)
	}
	for _, in := range []Input{{Segment: s}, {Segment: s, Deleted: deleted}} {
		fs := newMemory()
		if err := Merge(tb.Context(), fs, "m", []Input{in}); err != nil {
			continue
		}
		if _, err := open(aligned(fs.files["m"].data)); err != nil {
			tb.Fatalf("a merge that went well makes a bad file: %v", err)
		}
	}
}

// Checksums detect accidents. A forged file with correct checksums must cause nothing worse than wrong results: every
// byte is changed in turn.
func TestForgedFilesDoNotPanic(t *testing.T) {
	t.Parallel()
	data := small(t)
	bad := aligned(data)
	for at := headerSize; at < len(data); at++ {
		for _, change := range changes {
			copy(bad, data)
			bad[at] ^= change
			if at < len(data)-trailerSize {
				if sealFooter(bad); at < footerAt(data) {
					reseal(bad)
				}
			}
			exercise(t, bad)
		}
	}
}

// footerAt returns the offset of the footer.
func footerAt(data []byte) int {
	return len(data) - trailerSize - int(binary.NativeEndian.Uint64(data[len(data)-trailerSize:]))
}

func TestForgedStructureIsFoundByVerify(t *testing.T) {
	t.Parallel()
	data := small(t)
	s := mustOpen(t, data)
	// These contradict no other value.
	free := []sectionID{secYears, secSeqs, secTitleHashes, secDOIHashes, secSurfaceText, secVectorScales}
	for id := secMeta; id < numSections; id++ {
		if slices.Contains(free, id) {
			continue
		}
		bad := aligned(data)
		bad[offsetOf(s, id)] ^= 0x05
		reseal(bad)
		forged, err := open(bad)
		if err == nil {
			err = forged.Verify()
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("forged %v: %v", id, err)
		}
	}
}

func TestFilesOfAnotherVersionAreReported(t *testing.T) {
	t.Parallel()
	data := small(t)
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		says   string
	}{
		{"another kind of file", func(b []byte) []byte { b[0] = 'x'; return b }, "not a segment"},
		{"another byte order", func(b []byte) []byte { slices.Reverse(b[8:12]); return b }, "byte order"},
		{"another version", func(b []byte) []byte { b[12] ^= 3; return b }, "version"},
		{"other constants", func(b []byte) []byte { b[24]++; return b }, "header"},
		{"empty", func([]byte) []byte { return nil }, "empty"},
		{"short", func(b []byte) []byte { return b[:50] }, "too few for a segment"},
		{"torn", func(b []byte) []byte { return b[:len(b)-8] }, "end is missing"},
		{"zeros at the end", func(b []byte) []byte { clear(b[len(b)/2:]); return b }, "end is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := openFile(t, c.change(slices.Clone(data)))
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestMissingFileIsDamageAndAFolderToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Open(dir + "/none"); !errors.Is(err, ErrDamaged) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrDamaged) {
		t.Errorf("a folder: %v", err)
	}
}

func TestFileThatMayNotBeReadIsNotDamaged(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/s"
	if err := os.WriteFile(path, small(t), 0o000); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err == nil {
		_ = s.Close()
		t.Skip("this user may read everything")
	}
	if errors.Is(err, ErrDamaged) {
		t.Fatalf("%v", err)
	}
}

// A large file is verified as it is read, so a bad page only affects readers that need it.
func TestOnlyTheBadPageIsRefused(t *testing.T) {
	t.Parallel()
	data := build(t, Options{}, manyPostings(15_000, 1))
	good := mustOpen(t, data)
	units := good.postingUnits.section
	if len(units.sums) < 3 {
		t.Fatalf("only %d pages", len(units.sums))
	}
	bad := aligned(data)
	bad[offsetOf(good, secPostingUnits)+pageSize+100] ^= 1
	s, err := openFile(t, bad)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const perPage = pageSize / 4
	refused := 0
	var wait sync.WaitGroup
	for ord := range uint32(s.Terms()) {
		_, term, err := s.Term(ord)
		if err != nil {
			t.Fatal(err)
		}
		onBad := term.First < 2*perPage && term.End > perPage
		if onBad {
			refused++
		}
		for range 2 { // several readers verify the same pages concurrently
			wait.Go(func() {
				if _, err := s.Postings(term); errors.Is(err, ErrDamaged) != onBad {
					t.Errorf("term %d, places %d to %d: %v", ord, term.First, term.End, err)
				}
			})
		}
	}
	wait.Wait()
	if refused == 0 || refused == s.Terms() {
		t.Fatalf("%d of %d terms refused", refused, s.Terms())
	}
	if err := s.Verify(); !errors.Is(err, ErrDamaged) {
		t.Fatalf("verify: %v", err)
	}
}

// FuzzOpen opens arbitrary bytes as a segment, unchanged and with recomputed checksums.
func FuzzOpen(f *testing.F) {
	data := small(f)
	f.Add(data, false)
	f.Add(data, true)
	f.Add(build(f, Options{}, nil), true)
	f.Add(data[:len(data)/2], false)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, data []byte, forged bool) {
		data = aligned(data)
		if forged && len(data) >= headerSize+trailerSize {
			copy(data, header())
			sealFooter(data)
			reseal(data)
		}
		exercise(t, data)
	})
}

// Two ids may share a hash.
func TestIDIsComparedNotOnlyItsHash(t *testing.T) {
	t.Parallel()
	s, err := open(forge(small(t), secIDDocs, swap[uint32](0, 1)))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, want := range []string{"doc-1", "doc-2", "doc-3"} {
		doc, ok, err := s.FindID(want)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		found++
		if got, err := s.ID(doc); err != nil || got != want {
			t.Errorf("found %q for %q: %v", got, want, err)
		}
	}
	if found != 1 {
		t.Errorf("found %d", found)
	}
}
