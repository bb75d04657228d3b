// Package searchtest is the acceptance suite for search engines.
package searchtest

import (
	"slices"
	"testing"

	"carrel/internal/search"
)

// Run holds an engine to the contract of search.Engine. Open returns a new, empty engine, which the suite closes.
func Run(t *testing.T, open func(t *testing.T) search.Engine) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*suite)
	}{
		{"EmptyEngineFindsNothing", emptyEngine},
		{"AppliedDocumentsAreFound", appliedDocuments},
		{"CoveredSpanIsRefused", coveredSpan},
		{"ChangeOutsideItsSpanIsRefused", changeOutsideSpan},
		{"HighestChangeWinsInAnyOrder", spansOutOfOrder},
		{"DeletedDocumentsAreNotFound", deletedDocuments},
		{"OnlyTheGivenSourcesAreSearched", sources},
		{"YearsBoundTheResults", years},
		{"FacetsCountTheMatches", facets},
		{"OperatorsLimitTheResults", operators},
		{"WordsAreStemmedInTheirLanguage", stemming},
		{"MisspeltQueryIsCorrected", spelling},
		{"LongDocumentIsOneHitWithItsBestPassage", longDocument},
		{"StatisticsCountPassages", statistics},
		{"RebuildMakesTheLogMissing", rebuild},
		{"ConcurrentAppliesAndSearches", concurrently},
		{"ClosedEngineRefusesSearches", closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &suite{T: t, engine: open(t)}
			t.Cleanup(func() {
				if err := s.engine.Close(); err != nil {
					t.Error(err)
				}
			})
			c.test(s)
		})
	}
}

// suite is one test with its engine and the number of the last change.
type suite struct {
	*testing.T
	engine search.Engine
	head   uint64
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// span numbers the changes after the head, and returns them with the span that they fill.
func (s *suite) span(changes ...search.Change) (search.Span, []search.Change) {
	span := search.Span{After: s.head, Through: s.head + uint64(len(changes))}
	for i := range changes {
		changes[i].Seq = span.After + uint64(i) + 1
	}
	s.head = span.Through
	return span, changes
}

// apply applies changes as the next span of the log.
func (s *suite) apply(changes ...search.Change) {
	s.Helper()
	span, changes := s.span(changes...)
	s.must(s.engine.Apply(s.Context(), span, changes))
}

// put returns the change that stores a document, in the source "a" unless the document names another.
func put(d search.Document) search.Change {
	if d.SourceID == "" {
		d.SourceID = "a"
	}
	return search.Change{Op: search.Put, ID: d.ID, Document: d}
}

func remove(id string) search.Change { return search.Change{Op: search.Delete, ID: id} }

func drop(source string) search.Change { return search.Change{Op: search.Drop, ID: source} }

// search searches the source "a", unless the query names others, for up to ten documents.
func (s *suite) search(q search.Query) search.Result {
	s.Helper()
	if q.Sources == nil {
		q.Sources = []string{"a"}
	}
	if q.Limit == 0 {
		q.Limit = 10
	}
	result, err := s.engine.Search(s.Context(), q)
	s.must(err)
	return result
}

// finds checks which documents a query finds, in any order.
func (s *suite) finds(q search.Query, want ...string) {
	s.Helper()
	got := make([]string, 0, len(want))
	for _, h := range s.search(q).Hits {
		got = append(got, h.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.Errorf("%+v finds %v, want %v", q, got, want)
	}
}

// missing checks the first span up to the head that the engine does not hold. An empty span means none.
func (s *suite) missing(want search.Span) {
	s.Helper()
	got, missing := s.engine.Missing(s.head)
	if missing != (want != search.Span{}) || missing && got != want {
		s.Errorf("missing up to %d is %v (%t), want %v", s.head, got, missing, want)
	}
}
