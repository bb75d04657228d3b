package core

import (
	"slices"
	"strings"
	"testing"
)

func TestDeletionListsEveryRequestedIDOnce(t *testing.T) {
	t.Parallel()
	d := NewDeletion([]string{"c", "a", "x", "a", "x"}, []string{"a", "c"})
	if !slices.Equal(d.Deleted, []string{"c", "a"}) || !slices.Equal(d.NotFound, []string{"x"}) {
		t.Errorf("deleted %v, not found %v", d.Deleted, d.NotFound)
	}
	if d := NewDeletion(nil, nil); d.Deleted == nil || d.NotFound == nil {
		t.Error("an empty list is nil")
	}
}

func TestBatchHasALimit(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{0: false, 1: true, MaxBatch: true, MaxBatch + 1: false} {
		if err := CheckBatch(make([]string, n)); (err == nil) != ok {
			t.Errorf("%d ids: %v", n, err)
		}
	}
}

func TestQueryWordsAreLimited(t *testing.T) {
	t.Parallel()
	words, err := QueryWords("  relational\tmodel ")
	if err != nil || !slices.Equal(words, []string{"relational", "model"}) {
		t.Errorf("%v %v", words, err)
	}
	for _, q := range []string{strings.Repeat("a ", 21), strings.Repeat("a", 501), "a\x00"} {
		if _, err := QueryWords(q); AsError(err).Fields[0].Pointer != "q" {
			t.Errorf("%.20q: %v", q, err)
		}
	}
}
