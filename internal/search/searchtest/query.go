package searchtest

import (
	"slices"
	"strings"

	"carrel/internal/search"
)

func sources(s *suite) {
	s.apply(
		put(search.Document{ID: "1", Title: "Bridges"}),
		put(search.Document{ID: "2", Title: "Bridges", SourceID: "b"}))
	s.finds(search.Query{Text: "bridge"}, "1")
	s.finds(search.Query{Text: "bridge", Sources: []string{"b"}}, "2")
	s.finds(search.Query{Text: "bridge", Sources: []string{"a", "b"}}, "1", "2")
	s.finds(search.Query{Text: "bridge", Sources: []string{}})
	s.finds(search.Query{Text: "bridge", Sources: []string{"none"}})
	for _, h := range s.search(search.Query{Text: "bridge", Sources: []string{"a", "b"}}).Hits {
		if want := map[string]string{"1": "a", "2": "b"}[h.ID]; h.SourceID != want {
			s.Errorf("document %s is in source %q, want %q", h.ID, h.SourceID, want)
		}
	}
}

func years(s *suite) {
	s.apply(
		put(search.Document{ID: "1968", Title: "Bridges", Year: 1968}),
		put(search.Document{ID: "1970", Title: "Bridges", Year: 1970}),
		put(search.Document{ID: "1972", Title: "Bridges", Year: 1972}),
		put(search.Document{ID: "undated", Title: "Bridges"}))
	s.finds(search.Query{Text: "bridge"}, "1968", "1970", "1972", "undated")
	s.finds(search.Query{Text: "bridge", FromYear: 1970}, "1970", "1972")
	s.finds(search.Query{Text: "bridge", ToYear: 1970}, "1968", "1970")
	s.finds(search.Query{Text: "bridge", FromYear: 1969, ToYear: 1971}, "1970")
	if n := s.search(search.Query{Text: "bridge", FromYear: 1970}).UndatedExcluded; n != 1 {
		s.Errorf("%d undated documents are excluded, want 1", n)
	}
	if n := s.search(search.Query{Text: "bridge"}).UndatedExcluded; n != 0 {
		s.Errorf("%d undated documents are excluded without bounds", n)
	}
}

func facets(s *suite) {
	s.apply(
		put(search.Document{ID: "1", Title: "Bridges", Year: 1970}),
		put(search.Document{ID: "2", Title: "Bridges", Year: 1970}),
		put(search.Document{ID: "3", Title: "Bridges", Year: 1968, SourceID: "b"}),
		put(search.Document{ID: "4", Title: "Bridges"}),
		put(search.Document{ID: "5", Title: "Ferries", Year: 1968}))
	got := s.search(search.Query{Text: "bridge", Sources: []string{"a", "b"}, Limit: 1, Facets: true})
	if len(got.Hits) != 1 || got.Total != 4 {
		s.Errorf("%d hits of %d, want 1 of 4", len(got.Hits), got.Total)
	}
	if want := []search.YearCount{{Year: 1968, Count: 1}, {Year: 1970, Count: 2}}; !slices.Equal(got.Years, want) {
		s.Errorf("the years are %v, want %v", got.Years, want)
	}
	inSources := []search.SourceCount{{SourceID: "a", Count: 3}, {SourceID: "b", Count: 1}}
	if !slices.Equal(got.Sources, inSources) {
		s.Errorf("the sources are %v, want %v", got.Sources, inSources)
	}
	if plain := s.search(search.Query{Text: "bridge"}); plain.Total != 0 || plain.Years != nil || plain.Sources != nil {
		s.Errorf("facets were counted unasked: %+v", plain.Facets)
	}
}

func operators(s *suite) {
	s.apply(
		put(search.Document{
			ID: "art", Title: "The Art of War", Text: "Strategy and terrain.", Authors: []string{"Sun Tzu"}, DOI: "10.1000/ABC",
		}),
		put(search.Document{ID: "war", Title: "War", Text: "Art in times of war, by Tzu."}),
		put(search.Document{ID: "cites", Text: "See 10.1000/abc."}))
	s.finds(search.Query{Text: "war art"}, "art", "war")
	s.finds(search.Query{Text: `"art of war"`}, "art")
	s.finds(search.Query{Text: "war -strategy"}, "war")
	s.finds(search.Query{Text: "author:tzu"}, "art")
	s.finds(search.Query{Text: "title:art"}, "art")
	s.finds(search.Query{Text: "text:art"}, "war")
	s.finds(search.Query{Text: "https://doi.org/10.1000/abc"}, "art")
	if first := s.search(search.Query{Text: "the art of war"}).Hits[0].ID; first != "art" {
		s.Errorf("the exact title ranks %s first", first)
	}
}

func stemming(s *suite) {
	s.apply(put(search.Document{ID: "en", Text: "Indexing libraries", Language: "en"}),
		put(search.Document{ID: "de", Text: "Die Häuser der Stadt", Language: "de", SourceID: "b"}))
	s.finds(search.Query{Text: "indexes", Language: "en"}, "en")
	s.finds(search.Query{Text: "library", Language: "en"}, "en")
	s.finds(search.Query{Text: "Haus", Language: "de", Sources: []string{"b"}}, "de")
	s.finds(search.Query{Text: "hauser", Language: "de", Sources: []string{"b"}}, "de")
}

func spelling(s *suite) {
	s.apply(
		put(search.Document{ID: "1", Text: "The relational model"}),
		put(search.Document{ID: "2", Text: "Other texts"}))
	got := s.search(search.Query{Text: "relatoinal"})
	if got.Corrected != "relational" || len(got.Hits) != 1 || got.Hits[0].ID != "1" {
		s.Errorf("the result is %+v", got)
	}
	snippet := search.NewHighlighter("en", got.Parsed).Snippet("", "The relational model", 0)
	if len(snippet.Highlights) != 1 || snippet.Highlights[0].Start != 4 {
		s.Errorf("the corrected query highlights %+v", snippet)
	}
	if right := s.search(search.Query{Text: "relational"}); right.Corrected != "" {
		s.Errorf("a known word was corrected to %q", right.Corrected)
	}
	if plain := s.search(search.Query{Text: "relatoinal", Plain: true}); plain.Corrected != "" || len(plain.Hits) != 0 {
		s.Errorf("the result of a plain query is %+v", plain)
	}
}

func longDocument(s *suite) {
	filler := strings.Repeat("Nothing of interest. ", 200)
	text := filler + "\n\nA zebra crosses the savanna.\n\n" + filler
	s.apply(
		put(search.Document{ID: "long", Title: "Report", Text: text}),
		put(search.Document{ID: "other", Text: "Nothing"}))
	got := s.search(search.Query{Text: "zebra", Facets: true})
	if len(got.Hits) != 1 || got.Total != 1 {
		s.Fatalf("the result is %+v", got)
	}
	snippet := search.NewHighlighter("en", got.Parsed).Snippet("Report", text, got.Hits[0].Passage)
	if !strings.Contains(snippet.Text, "A zebra crosses the savanna.") || len(snippet.Highlights) != 1 {
		s.Errorf("the snippet of passage %d is %+v", got.Hits[0].Passage, snippet)
	}
	if n := len(s.search(search.Query{Text: "report"}).Hits); n != 1 {
		s.Errorf("the title of a document with several passages gave %d hits", n)
	}
}

func statistics(s *suite) {
	s.apply(put(search.Document{ID: "1", Text: "bridge ferry"}), put(search.Document{ID: "2", Text: "bridge"}),
		put(search.Document{ID: "3", Text: "bridge", SourceID: "b"}), put(search.Document{ID: "4", Text: "bridge"}))
	s.apply(remove("4"))
	got, err := s.engine.Statistics(s.Context(), []string{"a"}, []string{"bridg", "ferri", "none"})
	s.must(err)
	if got.Passages != 2 || got.Holders["bridg"] != 2 || got.Holders["ferri"] != 1 || got.Holders["none"] != 0 {
		s.Errorf("the statistics are %+v", got)
	}
}
