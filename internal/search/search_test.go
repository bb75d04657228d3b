package search_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/search"
)

// fakeEngine records the last query.
type fakeEngine struct {
	search.Engine
	query search.Query
}

func (e *fakeEngine) Search(_ context.Context, q search.Query) (search.Result, error) {
	e.query = q
	return search.Result{}, nil
}

func (*fakeEngine) Status() search.Status { return search.Status{Sources: map[string]int{"a": 3}} }

// embedder returns a vector, or an error.
type embedder struct{ err error }

func (e embedder) Query(context.Context, string) ([]float32, error) { return []float32{1}, e.err }

func (embedder) Model() string { return "m" }

func TestServiceIsUnavailableWithoutAnEngine(t *testing.T) {
	t.Parallel()
	s := search.NewService(nil, 0.3, slog.New(slog.DiscardHandler))
	check := func() {
		t.Helper()
		_, searchErr := s.Search(t.Context(), search.Query{})
		_, statisticsErr := s.Statistics(t.Context(), nil, nil)
		for _, err := range []error{searchErr, statisticsErr} {
			if e := core.AsError(err); e.Kind != core.KindUnavailable || e.RetryAfter == 0 {
				t.Errorf("the error is %v", err)
			}
		}
		if _, known := s.Indexed("a"); known {
			t.Error("the number of indexed documents is known")
		}
	}
	check()
	s.Open(&fakeEngine{})
	if _, err := s.Search(t.Context(), search.Query{}); err != nil {
		t.Error(err)
	}
	if n, known := s.Indexed("a"); n != 3 || !known {
		t.Errorf("%d documents are indexed (%t)", n, known)
	}
	s.Shut()
	check()
}

// brokenEngine is an engine whose service does not answer.
type brokenEngine struct{ search.Engine }

func (brokenEngine) Search(context.Context, search.Query) (search.Result, error) {
	return search.Result{}, fmt.Errorf("search: %w", search.ErrUnavailable)
}

func (brokenEngine) Statistics(context.Context, []string, []string) (search.Statistics, error) {
	return search.Statistics{}, fmt.Errorf("count: %w", search.ErrUnavailable)
}

func TestServiceIsUnavailableWhileTheEngineIs(t *testing.T) {
	t.Parallel()
	s := search.NewService(nil, 0.3, slog.New(slog.DiscardHandler))
	s.Open(brokenEngine{})
	_, searchErr := s.Search(t.Context(), search.Query{})
	_, statisticsErr := s.Statistics(t.Context(), nil, nil)
	for _, err := range []error{searchErr, statisticsErr} {
		e := core.AsError(err)
		if e.Kind != core.KindUnavailable || e.Code != "search_unavailable" || e.RetryAfter == 0 {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestServiceAddsTheEmbeddingOfTheQuery(t *testing.T) {
	t.Parallel()
	engine := &fakeEngine{}
	for name, err := range map[string]error{"answers": nil, "fails": errors.New("no")} {
		s := search.NewService(embedder{err}, 0.3, slog.New(slog.DiscardHandler))
		s.Open(engine)
		got, searchErr := s.Search(t.Context(), search.Query{Text: "q"})
		if searchErr != nil || got.EmbeddingFailed != (err != nil) || engine.query.VectorWeight != 0.3 ||
			(engine.query.Vector == nil) != (err != nil) {
			t.Errorf("an embedder that %s: %+v for %+v, %v", name, got, engine.query, searchErr)
		}
	}
}

func TestServiceAddsNoEmbeddingToAPlainQuery(t *testing.T) {
	t.Parallel()
	engine := &fakeEngine{}
	s := search.NewService(embedder{}, 0.3, slog.New(slog.DiscardHandler))
	s.Open(engine)
	got, err := s.Search(t.Context(), search.Query{Text: "q", Plain: true})
	if err != nil || got.EmbeddingFailed || engine.query.Vector != nil {
		t.Errorf("%+v for %+v, %v", got, engine.query, err)
	}
}

func TestQueryCoversTheYearsWithinItsBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q    search.Query
		year int
		want bool
	}{
		{search.Query{}, 0, true},
		{search.Query{}, 1970, true},
		{search.Query{FromYear: 1970}, 0, false},
		{search.Query{FromYear: 1970}, 1969, false},
		{search.Query{FromYear: 1970}, 1970, true},
		{search.Query{ToYear: 1970}, 1970, true},
		{search.Query{ToYear: 1970}, 1971, false},
		{search.Query{FromYear: 1960, ToYear: 1970}, 1965, true},
	} {
		if got := c.q.Covers(c.year); got != c.want {
			t.Errorf("%+v covers %d: %t", c.q, c.year, got)
		}
	}
}

func TestSnippetOfAnUnrankedDocumentIsItsBestPassage(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("Nothing of interest. ", 150)
	text := filler + "\n\n" + "A ferry crosses the river by the bridge.\n\n" + filler
	q := search.Query{Text: "ferry bridge", Language: "en"}
	h := search.NewHighlighter(q.Language, search.Parse(q))
	s := h.Snippet("Title", text, search.BestPassage)
	if len(s.Highlights) != 2 || !strings.Contains(s.Text, "A ferry crosses") {
		t.Errorf("the snippet is %+v", s)
	}
	if s := h.Snippet("Title", "A short text.", 7); s.Text != "A short text." {
		t.Errorf("the snippet of a document that became shorter is %+v", s)
	}
}

func TestSnippetByMeaningHighlightsTheNearestSentence(t *testing.T) {
	t.Parallel()
	// The vector of a text is its share of the letter x.
	encoder := &search.Encoder{Model: "m", Dims: 2, Language: "en", Embed: func(texts []string) [][]float32 {
		var vectors [][]float32
		for _, text := range texts {
			x := float32(strings.Count(text, "x")) / float32(len(text))
			vectors = append(vectors, []float32{x, 1 - x})
		}
		return vectors
	}}
	h := search.NewHighlighter("en", search.Parse(search.Query{Text: "xxx", Language: "en"}))
	text := "Nothing of interest is here. A fox in a box mixes six waxes. Nothing is here either."
	s := h.SnippetByMeaning(encoder, "xxx", "Title", text, 0)
	if len(s.Highlights) != 1 || string([]rune(s.Text)[s.Highlights[0].Start:s.Highlights[0].End]) !=
		"A fox in a box mixes six waxes." {
		t.Errorf("the snippet is %+v", s)
	}
	if s := h.SnippetByMeaning(nil, "xxx", "Title", text, 3); len(s.Highlights) != 0 || s.Text != text {
		t.Errorf("the snippet without an encoder is %+v", s)
	}
}

// fakeLog has one put and one deletion.
type fakeLog struct{ search.Log }

func (fakeLog) Changes(context.Context, uint64, uint64, int) ([]search.Change, error) {
	return []search.Change{
		{Op: search.Put, ID: "1", Document: search.Document{ID: "1"}}, {Op: search.Delete, ID: "2"},
	}, nil
}

type vectorSource map[string]*search.Vectors

func (v vectorSource) Vectors(_ context.Context, docs []search.Document) (map[string]*search.Vectors, error) {
	if len(docs) != 1 {
		return nil, errors.New("vectors of deleted documents were requested")
	}
	return v, nil
}

func TestChangesCarryTheVectorsOfTheirDocuments(t *testing.T) {
	t.Parallel()
	want := &search.Vectors{Model: "m"}
	changes, err := search.WithVectors(fakeLog{}, vectorSource{"1": want}).Changes(t.Context(), 0, 2, 10)
	if err != nil || changes[0].Document.Vectors != want || changes[1].Document.Vectors != nil {
		t.Errorf("the changes are %+v, %v", changes, err)
	}
}
