package source_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/source"
)

func TestImportBatchIsLimitedByTextSize(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const documents, size = 30, 1 << 20
	read, stored, most := 0, 0, 0
	docs := func(yield func(source.Document, error) bool) {
		for i := range documents {
			read++
			most = max(most, read-stored)
			if !yield(source.Document{ExternalID: strconv.Itoa(i), Title: "T", Text: strings.Repeat("text ", size/5)}, nil) {
				return
			}
		}
	}
	done, err := w.Import(t.Context(), w.ada, w.library(t), docs, func(so source.Imported) { stored = so.Total() })
	if err != nil || done.Added != documents {
		t.Fatal(done, err)
	}
	if most > 12 {
		t.Errorf("%d documents of a mebibyte were held at once", most)
	}
}

func TestImportReadsABatchWhileTheOneBeforeIsStored(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	failure := errors.New("the file ends early")
	stored, whenFailed := 0, -1
	docs := func(yield func(source.Document, error) bool) {
		for i := range 999 {
			if !yield(source.Document{ExternalID: strconv.Itoa(i), Title: "T", Text: "text"}, nil) {
				return
			}
		}
		whenFailed = stored
		yield(source.Document{}, failure)
	}
	done, err := w.Import(t.Context(), w.ada, w.library(t), docs, func(so source.Imported) { stored = so.Total() })
	if !errors.Is(err, failure) || whenFailed != 0 || done.Added != 500 || stored != 500 {
		t.Fatalf("err %v, %d reported as stored before the failure, then %d, added %d", err, whenFailed, stored, done.Added)
	}
}
