package source_test

import (
	"context"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/search/analysis"
	"carrel/internal/source"
)

// languageFixture is a service that detects languages.
func languageFixture(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t)
	w.deps.GuessLanguage, w.deps.Languages = analysis.Guess, []string{"de", "en", "fr"}
	w.Service = source.NewService(w.deps)
	return w
}

const (
	germanText  = "Die Bibliothek wurde im Jahr 1890 eröffnet und ist seit dem Krieg nicht mehr an ihrem alten Platz."
	englishText = "The library was opened in 1890 and has not been in its old place since the end of the war."
)

func (w *fixture) languages(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for d, err := range w.db.ScanDocuments(ctx, w.library(t).ID) {
		if err != nil {
			t.Fatal(err)
		}
		out[d.ExternalID] = d.Language
	}
	return out
}

func TestDocumentHasTheLanguageOfItsFileOrOfItsText(t *testing.T) {
	t.Parallel()
	w, ctx := languageFixture(t), t.Context()
	names := strings.Repeat("Ada Lovelace, Charles Babbage. ", 40) // no language
	docs := []source.Document{
		{ExternalID: "detected", Title: "Haus", Text: germanText},
		{ExternalID: "named", Title: "Haus", Text: germanText, Language: "en-GB"},
		{ExternalID: "unknown name", Title: "Haus", Text: germanText, Language: "Klingon"},
		{ExternalID: "after names", Title: "Names", Text: names + strings.Repeat(englishText+" ", 12)},
		{ExternalID: "none", Title: "1890"},
	}
	_, err := w.Import(ctx, w.ada, w.library(t), func(yield func(source.Document, error) bool) {
		for _, d := range docs {
			if !yield(d, nil) {
				return
			}
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"detected": "de", "named": "en", "unknown name": "de", "after names": "en", "none": "",
	} {
		if got := w.languages(ctx, t)[id]; got != want {
			t.Errorf("%s: the language is %q, want %q", id, got, want)
		}
	}
}

func TestLanguageOfADocumentCanBeSetAndFiltered(t *testing.T) {
	t.Parallel()
	w, ctx := languageFixture(t), t.Context()
	src := w.library(t)
	put := func(text string) {
		t.Helper()
		_, err := w.PutDocuments(ctx, w.ada, w.agent, src.ID, []source.Document{
			{ExternalID: "a", Text: text}, {ExternalID: "b", Text: germanText, Language: "fr"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put(germanText)
	list := func(code string) (ids []string) {
		t.Helper()
		page, err := w.Documents(ctx, w.ada, w.agent, src.ID, source.DocumentFilter{Language: code}, core.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Documents {
			ids = append(ids, d.ExternalID)
		}
		return ids
	}
	if de, fr := list("de"), list("fr"); len(de) != 1 || de[0] != "a" || len(fr) != 1 || fr[0] != "b" {
		t.Fatalf("the German documents are %v, the French ones %v", de, fr)
	}
	page, err := w.Documents(ctx, w.ada, w.agent, src.ID, source.DocumentFilter{Language: "de"}, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	english := " en "
	d, err := w.ChangeDocument(ctx, w.ada, w.agent, page.Documents[0].ID, source.Edits{Language: &english})
	if err != nil || d.Language != "en" {
		t.Fatalf("changed to %q, %v", d.Language, err)
	}
	put(germanText + " Sie wird neu gebaut.")
	if got := w.languages(ctx, t)["a"]; got != "en" {
		t.Errorf("an import replaced the language by %q", got)
	}
	for _, code := range []string{"es", "EN", "eng"} {
		_, errSet := w.ChangeDocument(ctx, w.ada, w.agent, d.ID, source.Edits{Language: &code})
		_, errList := w.Documents(ctx, w.ada, w.agent, src.ID, source.DocumentFilter{Language: code}, core.Page{})
		bad := []source.Document{{ExternalID: "x", Text: "x", Language: code}}
		_, errPut := w.PutDocuments(ctx, w.ada, w.agent, src.ID, bad)
		for want, err := range map[string]error{"/language": errSet, "language": errList, "/documents/0/language": errPut} {
			if e := core.AsError(err); e.Kind != core.KindInvalid || e.Fields[0].Pointer != want {
				t.Errorf("%s %q: %v", want, code, err)
			}
		}
	}
}

// olderStore has a document that an earlier version stored without a language.
type olderStore struct {
	source.Store
	older []source.Document
	set   []source.Document
}

func (s *olderStore) UndetectedDocuments(context.Context, int) ([]source.Document, error) {
	return s.older, nil
}

func (s *olderStore) SetDetectedLanguages(_ context.Context, docs []source.Document) error {
	s.set, s.older = docs, nil
	return nil
}

func TestLanguagesOfOlderDocumentsAreDetected(t *testing.T) {
	t.Parallel()
	w, ctx := languageFixture(t), t.Context()
	older := &olderStore{Store: w.db, older: []source.Document{{ID: "a", Text: germanText}, {ID: "b", Title: "1890"}}}
	w.deps.Store = older
	service := source.NewService(w.deps)
	for round, want := range []bool{false, true} {
		if done, err := service.DetectLanguages(ctx); err != nil || done != want {
			t.Errorf("round %d: done is %v, %v", round, done, err)
		}
	}
	if len(older.set) != 2 || older.set[0].Language != "de" || older.set[1].Language != "" {
		t.Errorf("stored %+v", older.set)
	}
}
