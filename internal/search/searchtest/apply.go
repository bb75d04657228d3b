package searchtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"carrel/internal/search"
)

func emptyEngine(s *suite) {
	s.finds(search.Query{Text: "bridge"})
	s.missing(search.Span{})
	s.head = 3
	s.missing(search.Span{Through: 3})
	if status := s.engine.Status(); status.Documents != 0 || len(status.Covered) != 0 {
		s.Errorf("the status is %+v", status)
	}
}

func appliedDocuments(s *suite) {
	s.apply(
		put(search.Document{ID: "1", Title: "Bridges"}),
		put(search.Document{ID: "2", Text: "A bridge and a ferry"}))
	s.apply(
		put(search.Document{ID: "3", Authors: []string{"Ada Bridge"}}),
		put(search.Document{ID: "4", Title: "Ferries"}))
	s.finds(search.Query{Text: "bridge"}, "1", "2", "3")
	s.finds(search.Query{Text: "ferry"}, "2", "4")
	s.missing(search.Span{})
	status := s.engine.Status()
	if status.Documents != 4 || status.Sources["a"] != 4 ||
		!slices.Equal(status.Covered, []search.Span{{After: 0, Through: 4}}) {
		s.Errorf("the status is %+v", status)
	}
	s.head++
	s.missing(search.Span{After: 4, Through: 5})
}

func coveredSpan(s *suite) {
	s.apply(put(search.Document{ID: "1", Title: "Bridges"}), remove("0"), remove("0"))
	for _, span := range []search.Span{{After: 0, Through: 3}, {After: 2, Through: 5}, {After: 1, Through: 2}} {
		if err := s.engine.Apply(s.Context(), span, nil); !errors.Is(err, search.ErrCovered) {
			s.Errorf("applying %v again returned %v", span, err)
		}
	}
	s.finds(search.Query{Text: "bridge"}, "1")
}

func changeOutsideSpan(s *suite) {
	change := put(search.Document{ID: "1", Title: "Bridges"})
	change.Seq = 7
	if err := s.engine.Apply(s.Context(), search.Span{Through: 5}, []search.Change{change}); err == nil {
		s.Error("a change with number 7 was applied in the span up to 5")
	}
	s.finds(search.Query{Text: "bridge"})
}

func spansOutOfOrder(s *suite) {
	oldSpan, old := s.span(put(search.Document{ID: "1", Title: "Old"}), put(search.Document{ID: "2", Title: "Old"}),
		put(search.Document{ID: "3", Title: "Old", SourceID: "b"}))
	middleSpan, middle := s.span(put(search.Document{ID: "4", Title: "Old"}))
	s.apply(put(search.Document{ID: "1", Title: "New"}), remove("2"), drop("b"))
	s.missing(search.Span{Through: 4})
	s.must(s.engine.Apply(s.Context(), middleSpan, middle))
	s.missing(oldSpan)
	s.must(s.engine.Apply(s.Context(), oldSpan, old))
	s.missing(search.Span{})
	s.finds(search.Query{Text: "old", Sources: []string{"a", "b"}}, "4")
	s.finds(search.Query{Text: "new", Sources: []string{"a", "b"}}, "1")
}

func deletedDocuments(s *suite) {
	s.apply(put(search.Document{ID: "1", Title: "Bridges"}), put(search.Document{ID: "2", Title: "Bridges"}),
		put(search.Document{ID: "3", Title: "Bridges", SourceID: "b"}))
	s.apply(remove("1"))
	both := []string{"a", "b"}
	s.finds(search.Query{Text: "bridge", Sources: both}, "2", "3")
	s.apply(drop("b"))
	s.finds(search.Query{Text: "bridge", Sources: both}, "2")
	s.must(s.engine.Purge(s.Context()))
	s.finds(search.Query{Text: "bridge", Sources: both}, "2")
	if status := s.engine.Status(); status.Documents != 1 || status.Sources["b"] != 0 {
		s.Errorf("the status is %+v", status)
	}
	s.apply(put(search.Document{ID: "1", Title: "Bridges again"}))
	s.finds(search.Query{Text: "bridge"}, "1", "2")
}

func rebuild(s *suite) {
	changes := []search.Change{
		put(search.Document{ID: "1", Title: "Bridges"}), put(search.Document{ID: "2", Title: "Ferries"}),
	}
	s.apply(changes...)
	s.must(s.engine.Rebuild())
	s.missing(search.Span{Through: 2})
	s.head = 0
	s.apply(changes...)
	s.missing(search.Span{})
	s.finds(search.Query{Text: "bridge"}, "1")
	s.finds(search.Query{Text: "ferry"}, "2")
}

func concurrently(s *suite) {
	const batches, size = 8, 20
	var work sync.WaitGroup
	for range batches {
		changes := make([]search.Change, size)
		for i := range changes {
			changes[i] = put(search.Document{ID: fmt.Sprint(s.head, "-", i), Title: "Bridges"})
		}
		span, changes := s.span(changes...)
		work.Go(func() {
			if err := s.engine.Apply(s.Context(), span, changes); err != nil {
				s.Error(err)
			}
		})
		work.Go(func() {
			q := search.Query{Text: "bridge", Sources: []string{"a"}, Limit: 1000, Facets: true}
			result, err := s.engine.Search(s.Context(), q)
			// A span becomes searchable as a whole.
			if err != nil || len(result.Hits)%size != 0 || result.Total != len(result.Hits) {
				s.Errorf("found %d of %d, %v", len(result.Hits), result.Total, err)
			}
		})
	}
	work.Wait()
	s.missing(search.Span{})
	if n := len(s.search(search.Query{Text: "bridge", Limit: 1000}).Hits); n != batches*size {
		s.Errorf("found %d documents, want %d", n, batches*size)
	}
}

func closed(s *suite) {
	s.apply(put(search.Document{ID: "1", Title: "Bridges"}))
	s.must(s.engine.Close())
	q := search.Query{Text: "bridge", Sources: []string{"a"}, Limit: 1}
	if _, err := s.engine.Search(s.Context(), q); !errors.Is(err, search.ErrClosed) {
		s.Errorf("a search returned %v", err)
	}
	if _, err := s.engine.Statistics(s.Context(), []string{"a"}, nil); !errors.Is(err, search.ErrClosed) {
		s.Errorf("statistics returned %v", err)
	}
	if err := s.engine.Apply(s.Context(), search.Span{After: 1, Through: 2}, nil); !errors.Is(err, search.ErrClosed) {
		s.Errorf("Apply returned %v", err)
	}
}
