package segment

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"

	"carrel/internal/search/local/disk"
)

func TestWriteFailsWhereTheDiskDoes(t *testing.T) {
	t.Parallel()
	docs := manyPostings(300, 2)
	input := mustOpen(t, build(t, Options{}, docs))
	for name, write := range map[string]func(fs disk.FS) error{
		"build": func(fs disk.FS) error {
			b := NewBuilder(Options{})
			for i := range docs {
				b.Add(&docs[i])
			}
			return b.Write(fs, "s")
		},
		"merge": func(fs disk.FS) error { return Merge(t.Context(), fs, "s", []Input{{Segment: input}}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newMemory()
			if err := write(whole); err != nil {
				t.Fatal(err)
			}
			for at := 1; at <= whole.steps; at++ {
				fs := newMemory()
				fs.failAt = at
				if err := write(fs); !errors.Is(err, errDisk) {
					t.Errorf("step %d of %d: %v", at, whole.steps, err)
				}
				if fs.opened != 0 {
					t.Errorf("step %d of %d leaves the file open", at, whole.steps)
				}
			}
		})
	}
}

// A process may end between any two writes: the file is then a whole segment or a damaged one.
func TestFileIsDamagedUntilItIsWhole(t *testing.T) {
	t.Parallel()
	b := NewBuilder(Options{})
	docs := manyPostings(300, 2)
	for i := range docs {
		b.Add(&docs[i])
	}
	var states [][]byte
	fs := newMemory()
	fs.onStep = func(int) {
		if f := fs.files["s"]; f != nil {
			states = append(states, slices.Clone(f.data))
		}
	}
	if err := b.Write(fs, "s"); err != nil {
		t.Fatal(err)
	}
	whole := fs.files["s"].data
	for i, state := range states {
		s, err := open(aligned(state))
		if bytes.Equal(state, whole) {
			if err != nil || s.Verify() != nil {
				t.Errorf("step %d: the whole file: %v", i, err)
			}
		} else if !errors.Is(err, ErrDamaged) {
			t.Errorf("step %d: %v", i, err)
		}
	}
}

func TestFileCutBehindItsMappingIsAnErrorNotACrash(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("not mapped here")
	}
	path := t.TempDir() + "/s"
	if err := os.WriteFile(path, build(t, Options{}, manyPostings(15_000, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Lookup("1"); !errors.Is(err, ErrDamaged) {
		t.Errorf("lookup: %v", err)
	}
	if _, err := s.ID(0); !errors.Is(err, ErrDamaged) {
		t.Errorf("id: %v", err)
	}
	if err := s.Verify(); !errors.Is(err, ErrDamaged) {
		t.Errorf("verify: %v", err)
	}
}

func TestCatchFaultsPassesOtherPanicsOn(t *testing.T) {
	t.Parallel()
	defer func() {
		if r := recover(); r != "mine" {
			t.Errorf("recovered %v", r)
		}
	}()
	_ = catchFaults(func() error { panic("mine") })
}

func TestClosedSegmentHoldsNothing(t *testing.T) {
	t.Parallel()
	s, err := openFile(t, small(t))
	if err != nil {
		t.Fatal(err)
	}
	if s.Size() != int64(len(small(t))) {
		t.Errorf("size %d", s.Size())
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if s.Documents() != 0 || len(s.Sources()) != 0 || s.Lengths() != nil {
		t.Error("something is left")
	}
	if _, ok, err := s.Lookup("a"); ok || err != nil {
		t.Errorf("lookup: %v %v", ok, err)
	}
	if _, err := s.ID(0); !errors.Is(err, ErrDamaged) {
		t.Errorf("id: %v", err)
	}
}

func TestReadsBeyondTheEndAreErrors(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, small(t))
	const far = ^uint32(0)
	for _, n := range []uint32{uint32(s.Terms()), far} {
		if _, _, err := s.Term(n); err == nil {
			t.Errorf("term %d", n)
		}
		if _, err := s.Surface(n); err == nil {
			t.Errorf("surface %d", n)
		}
		if _, err := s.ID(n); err == nil {
			t.Errorf("id %d", n)
		}
		if err := s.Forward(n, &Forward{}); err == nil {
			t.Errorf("forward %d", n)
		}
	}
	for _, term := range []Term{{0, 2, 1}, {0, 0, 1 << 40}, {far, 0, 1}, {0, ^uint64(0), ^uint64(0)}, {0, 5, ^uint64(0)}} {
		if _, err := s.Postings(term); err == nil {
			t.Errorf("postings %+v", term)
		}
	}
}

func TestTooMuchForOneFileIsAnError(t *testing.T) {
	t.Parallel()
	for _, m := range []meta{
		{docs: 1 << 32},
		{docs: maxNumber + 1},
		{units: maxNumber + 1},
		{terms: maxNumber + 1},
		{postings: maxPostings + 1},
		{docs: 1, titles: 2},
		{docs: 1, dois: 2},
		{dims: maxDims + 1},
		{model: string(make([]byte, maxModel+1))},
	} {
		if _, err := newFileWriter(nil, &m, nil); !errors.Is(err, errTooBig) {
			t.Errorf("%+v: %v", m, err)
		}
		if _, err := decodeMeta(aligned(m.encode())); !errors.Is(err, ErrDamaged) {
			t.Errorf("%+v read: %v", m, err)
		}
	}
	for _, id := range []sectionID{secTermText, secIDText, secSurfaceText, secSources} {
		if _, err := newFileWriter(nil, &meta{}, map[sectionID]uint64{id: 1 << 32}); !errors.Is(err, errTooBig) {
			t.Errorf("%v: %v", id, err)
		}
	}
}
