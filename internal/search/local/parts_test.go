package local

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/search"
	"carrel/internal/search/local/segment"
)

func TestTombstonesRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		documents := rapid.IntRange(0, 400).Draw(t, "documents")
		deleted := segment.NewBits(documents)
		for range rapid.IntRange(0, documents).Draw(t, "deleted") {
			deleted.Set(uint32(rapid.IntRange(0, documents-1).Draw(t, "document")))
		}
		data, sum := encodeTombstones(7, deleted)
		path := filepath.Join(dir, "tombstones")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readTombstones(path, sum, 7, documents)
		if err != nil || !slices.Equal(slices.Collect(got.All()), slices.Collect(deleted.All())) {
			t.Fatalf("read %v, %v", got, err)
		}
		for name, other := range map[string]func() (*segment.Bits, error){
			"another sum":     func() (*segment.Bits, error) { return readTombstones(path, sum+1, 7, documents) },
			"another segment": func() (*segment.Bits, error) { return readTombstones(path, sum, 8, documents) },
			"another size":    func() (*segment.Bits, error) { return readTombstones(path, sum, 7, documents+1) },
		} {
			if _, err := other(); !errors.Is(err, errUntrusted) {
				t.Fatalf("%s: %v, want errUntrusted", name, err)
			}
		}
	})
}

func partsOf(spans ...search.Span) []*part {
	var out []*part
	for _, s := range spans {
		out = append(out, &part{span: s})
	}
	return out
}

func TestGapsBetweenParts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts   []*part
		head    uint64
		through uint64
		gap     search.Span
		has     bool
	}{
		"nothing":            {nil, 0, 0, search.Span{}, false},
		"an empty index":     {nil, 9, 0, search.Span{After: 0, Through: 9}, true},
		"all":                {partsOf(search.Span{After: 0, Through: 9}), 9, 9, search.Span{}, false},
		"the end is missing": {partsOf(search.Span{After: 0, Through: 4}), 9, 4, search.Span{After: 4, Through: 9}, true},
		"the start":          {partsOf(search.Span{After: 3, Through: 9}), 9, 0, search.Span{After: 0, Through: 3}, true},
		"a hole": {
			partsOf(search.Span{After: 0, Through: 2}, search.Span{After: 5, Through: 9}), 9, 2,
			search.Span{After: 2, Through: 5},
			true,
		},
		"a hole past the end": {
			partsOf(search.Span{After: 0, Through: 2}, search.Span{After: 8, Through: 9}), 5, 2,
			search.Span{After: 2, Through: 5},
			true,
		},
		"adjacent parts": {
			partsOf(search.Span{After: 0, Through: 2}, search.Span{After: 2, Through: 9}), 9, 9, search.Span{}, false,
		},
	} {
		if got := coveredThrough(c.parts); got != c.through {
			t.Errorf("%s: covered through %d, want %d", name, got, c.through)
		}
		gap, has := firstGap(c.parts, c.head)
		if has != c.has || has && gap != c.gap {
			t.Errorf("%s: the first gap is %+v (%v), want %+v (%v)", name, gap, has, c.gap, c.has)
		}
	}
}

func TestAdjacentSpansAreJoined(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want []search.Span }{
		{nil, nil},
		{[]search.Span{{After: 0, Through: 2}}, []search.Span{{After: 0, Through: 2}}},
		{
			[]search.Span{{After: 0, Through: 2}, {After: 2, Through: 3}, {After: 4, Through: 5}, {After: 5, Through: 9}},
			[]search.Span{{After: 0, Through: 3}, {After: 4, Through: 9}},
		},
	} {
		if got := joined(c.given); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.given, got, c.want)
		}
		if got := covered(partsOf(c.given...)); !slices.Equal(got, c.want) {
			t.Errorf("%v: covered %v, want %v", c.given, got, c.want)
		}
	}
}
