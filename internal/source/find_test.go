package source_test

import (
	"iter"
	"slices"
	"testing"

	"carrel/internal/core"
	"carrel/internal/search"
	"carrel/internal/source"
)

// texts yields documents with these texts, whose external ids are "en 0", "en 1" and so on.
func texts(name string, all ...string) iter.Seq2[source.Document, error] {
	return func(yield func(source.Document, error) bool) {
		for i, text := range all {
			d := source.Document{ExternalID: name + " " + string(rune('0'+i)), Title: "T", Text: text, Year: 1970 + i}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// twoLanguages adds an English and a German source to Ada's agent, which also has an empty library.
func (w *fixture) twoLanguages(t *testing.T) (english, german source.Source) {
	t.Helper()
	add := func(language string, all ...string) source.Source {
		src, err := w.Add(t.Context(), w.ada, w.agent, source.New{Name: language, Language: language})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Import(t.Context(), w.ada, src, texts(language, all...), nil); err != nil {
			t.Fatal(err)
		}
		return src
	}
	english = add("en", "turing machine", "machine machine turing", "a garden")
	german = add("de", "maschine von turing turing turing", "ein garten")
	return english, german
}

func externalIDs(f source.Found) []string {
	out := []string{}
	for _, h := range f.Cards {
		out = append(out, h.ExternalID)
	}
	return out
}

func TestFindSearchesEachSourceInItsLanguage(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	english, german := w.twoLanguages(t)
	turn, q := source.Buyer{UserID: w.ada.UserID, AgentID: w.agent}, search.Query{Text: "turing"}
	found, err := w.Find(ctx, turn, q)
	if err != nil {
		t.Fatal(err)
	}
	got := externalIDs(found)
	slices.Sort(got)
	if !slices.Equal(got, []string{"de 0", "en 0", "en 1"}) {
		t.Errorf("found %v", got)
	}
	if !slices.IsSortedFunc(found.Cards, func(a, b source.Card) int { return int(1e9 * (b.Score - a.Score)) }) {
		t.Errorf("the scores are not in order: %v", found.Cards)
	}
	for _, h := range found.Cards {
		if h.Text == "" || h.Snippet.Text == "" || h.SourceID != english.ID && h.SourceID != german.ID {
			t.Errorf("a hit is %+v", h)
		}
	}
	var ids []string
	for _, src := range found.Searched {
		ids = append(ids, src.ID)
	}
	counted, err := w.Statistics(ctx, ids, []string{"ture", "turing", "garden", "none"})
	if err != nil || len(ids) != 3 || counted.Passages != 5 || counted.Holders["turing"] != 3-counted.Holders["ture"] ||
		counted.Holders["garden"] != 1 || counted.Holders["none"] != 0 {
		t.Errorf("searched %v with %+v, %v", found.Searched, counted, err)
	}
	if n, err := w.db.SearchesOf(ctx, w.ada.UserID, w.clock.Now().Format("2006-01-02")); err != nil || n != 0 {
		t.Errorf("%d searches are counted, %v", n, err)
	}
	one := q
	one.Limit = 1
	if best, err := w.Find(ctx, turn, one); err != nil || !slices.Equal(externalIDs(best), externalIDs(found)[:1]) {
		t.Errorf("the best is %v, %v", externalIDs(best), err)
	}
	named := q
	named.Sources, named.FromYear = []string{english.ID, english.ID}, 1971
	if some, err := w.Find(ctx, turn, named); err != nil || !slices.Equal(externalIDs(some), []string{"en 1"}) {
		t.Errorf("in one source since 1971: %v, %v", some, err)
	}
}

func TestFindRejectsSourcesOfOtherAgents(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	english, _ := w.twoLanguages(t)
	for name, c := range map[string]struct {
		turn    source.Buyer
		sources []string
	}{
		"another's source": {source.Buyer{UserID: w.bob.UserID, AgentID: w.theirs}, []string{english.ID}},
		"no source":        {source.Buyer{UserID: w.ada.UserID, AgentID: w.agent}, []string{english.ID, "src_none"}},
	} {
		_, err := w.Find(ctx, c.turn, search.Query{Text: "turing", Sources: c.sources})
		if !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Find(ctx, source.Buyer{UserID: w.bob.UserID, AgentID: w.agent},
		search.Query{Text: "turing"}); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("another's agent: %v", err)
	}
	if found, err := w.Find(ctx, source.Buyer{UserID: w.bob.UserID, AgentID: w.theirs},
		search.Query{Text: "turing"}); err != nil || len(found.Cards) != 0 {
		t.Errorf("another user found %v, %v", found, err)
	}
}

func TestFindReportsEachWarningOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.twoLanguages(t)
	w.engine.indexed = 1
	w.engine.embeddingFailed = true
	found, err := w.Find(t.Context(), source.Buyer{UserID: w.ada.UserID, AgentID: w.agent}, search.Query{Text: "turing"})
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, warning := range found.Warnings {
		codes = append(codes, warning.Code)
	}
	if !slices.Equal(codes, []string{
		source.WarnIndexIncomplete, source.WarnIndexIncomplete, source.WarnEmbeddingsUnavailable,
	}) {
		t.Errorf("warned of %v", found.Warnings)
	}
}

func TestDocumentIsNotFoundUnderAnotherAgent(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	w.twoLanguages(t)
	found, err := w.Find(ctx, source.Buyer{UserID: w.ada.UserID, AgentID: w.agent}, search.Query{Text: "garden"})
	if err != nil || len(found.Cards) == 0 {
		t.Fatalf("found %v, %v", found, err)
	}
	id := found.Cards[0].ID
	if d, err := w.Document(ctx, w.ada, w.agent, id); err != nil || d.Text != "a garden" {
		t.Errorf("read %+v, %v", d, err)
	}
	limited := w.ada
	limited.Agents = []string{w.theirs}
	for name, err := range map[string]error{
		"another user":   errorOf(w.Document(ctx, w.bob, w.agent, id)),
		"another agent":  errorOf(w.Document(ctx, w.bob, w.theirs, id)),
		"another key":    errorOf(w.Document(ctx, limited, w.agent, id)),
		"an odd id":      errorOf(w.Document(ctx, w.ada, w.agent, "junk")),
		"another's turn": errorOf(w.DocumentOf(ctx, w.bob.UserID, w.theirs, id)),
	} {
		if !core.IsKind(err, core.KindNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Document(ctx, core.Actor{UserID: w.ada.UserID}, w.agent, id); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("without a scope: %v", err)
	}
}

func TestHeadsAreOfTheAgentsSources(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t), t.Context()
	w.twoLanguages(t)
	heads, err := w.Heads(ctx, w.ada.UserID, w.agent, nil, 0, 0, 10)
	if err != nil || len(heads) < 2 {
		t.Fatalf("%v, %v", heads, err)
	}
	if one, err := w.Heads(ctx, w.ada.UserID, w.agent, nil, 0, 0, 1); err != nil || len(one) != 1 {
		t.Errorf("one of them: %v, %v", one, err)
	}
	if others, err := w.Heads(ctx, w.bob.UserID, w.agent, nil, 0, 0, 10); len(others) > 0 {
		t.Errorf("another user got %v, %v", others, err)
	}
}

func errorOf[T any](_ T, err error) error { return err }
