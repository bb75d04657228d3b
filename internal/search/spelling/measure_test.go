package spelling

import (
	"slices"
	"testing"
)

func TestLettersBoundTheNumberOfSlips(t *testing.T) {
	t.Parallel()
	for letters, want := range map[int]int{0: 0, 3: 0, 4: 1, 7: 1, 8: 2, 40: 2} {
		if got := Slips(letters); got != want {
			t.Errorf("a word of %d letters may differ in %d, want %d", letters, got, want)
		}
	}
}

func TestDistancesCountEdits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		x, y string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"abc", "acb", 1},
		{"abc", "abcd", 1},
		{"abcdef", "badcfe", 3},
		{"größe", "grosse", 3},
		{"поиск", "посик", 1},
		{"kitten", "sitting", 3},
	} {
		for _, pair := range [][2]string{{test.x, test.y}, {test.y, test.x}} {
			if got := NewMeasure(pair[0]).To(pair[1], 10); got != test.want {
				t.Errorf("distance of %q and %q is %d, want %d", pair[0], pair[1], got, test.want)
			}
			if got := NewMeasure(pair[0]).To(pair[1], 1); (got <= 1) != (test.want <= 1) {
				t.Errorf("distance of %q and %q within one is %d, want %d", pair[0], pair[1], got, test.want)
			}
		}
	}
}

func FuzzMeasure(f *testing.F) {
	f.Add("retrieval", "retreival")
	f.Add("", "ß")
	f.Fuzz(func(t *testing.T, x, y string) {
		if len(x) > 100 || len(y) > 100 {
			return
		}
		forth, back := NewMeasure(x).To(y, 1000), NewMeasure(y).To(x, 1000)
		if forth != back || (forth == 0) != slices.Equal([]rune(x), []rune(y)) {
			t.Errorf("distance of %q and %q is %d, back %d", x, y, forth, back)
		}
	})
}
