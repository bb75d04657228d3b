package research_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/cli/demo"
	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/research"
	quotepkg "carrel/internal/research/quote"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/store"
	users "carrel/internal/testkit/fixture"
	"carrel/internal/testkit/indexed"
	"carrel/internal/thread"
)

// indexEngine is an index that is always up to date.
type indexEngine struct{ *indexed.Engine }

// Indexed implements source.Engine.
func (indexEngine) Indexed(string) (int, bool) { return 0, false }

// countingLibrary counts the work of a check.
type countingLibrary struct {
	*source.Service
	searches, loads, documents, statistics, read atomic.Int64
	// found, if set, is called before each search.
	found func(ctx context.Context) error
}

func (l *countingLibrary) FindPassages(
	ctx context.Context, sources []source.Source, text string, limit int,
) ([]search.Hit, error) {
	l.searches.Add(1)
	if l.found != nil {
		if err := l.found(ctx); err != nil {
			return nil, err
		}
	}
	return l.Service.FindPassages(ctx, sources, text, limit)
}

func (l *countingLibrary) DocumentsIn(
	ctx context.Context, sources []source.Source, ids []string,
) ([]source.Document, error) {
	l.loads.Add(1)
	l.documents.Add(int64(len(ids)))
	return l.Service.DocumentsIn(ctx, sources, ids)
}

func (l *countingLibrary) DocumentOf(
	ctx context.Context, userID, agentID, documentID string,
) (source.Document, error) {
	l.read.Add(1)
	return l.Service.DocumentOf(ctx, userID, agentID, documentID)
}

func (l *countingLibrary) Statistics(ctx context.Context, sources, terms []string) (search.Statistics, error) {
	l.statistics.Add(1)
	return l.Service.Statistics(ctx, sources, terms)
}

// textFixture checks texts against documents in a real database and a real index.
type textFixture struct {
	t  testing.TB
	db *store.DB
	users.Users
	library *countingLibrary
	source  source.Source
	model   model.Provider
	payer   research.ModelPayer
	ranker  func(context.Context) quotepkg.Ranker
	options research.TextCheckerOptions
}

func newTextFixture(t testing.TB) *textFixture {
	t.Helper()
	db := database(t)
	w := &textFixture{t: t, db: db, Users: users.NewUsers(t, db, core.PlanOpen)}
	w.library = &countingLibrary{Service: source.NewService(source.Deps{
		Store: db, Agents: w.Agents, Engine: indexEngine{indexed.Open(t, db)}, Clock: w.Clock,
	})}
	w.source = w.defaultSource(w.Ada, w.Agent)
	return w
}

func (w *textFixture) defaultSource(actor core.Actor, agentID string) source.Source {
	w.t.Helper()
	src, err := w.library.Default(w.t.Context(), actor, agentID)
	if err != nil {
		w.t.Fatal(err)
	}
	if src, err = w.library.SetLanguage(w.t.Context(), actor, src, "en"); err != nil {
		w.t.Fatal(err)
	}
	return src
}

// put imports documents into a source.
func (w *textFixture) put(src source.Source, docs ...source.Document) {
	w.t.Helper()
	var all iter.Seq2[source.Document, error] = func(yield func(source.Document, error) bool) {
		for i, d := range docs {
			if d.ExternalID == "" {
				d.ExternalID = fmt.Sprint(src.ID, i)
			}
			if !yield(d, nil) {
				return
			}
		}
	}
	if _, err := w.library.Import(w.t.Context(), w.Ada, src, all, nil); err != nil {
		w.t.Fatal(err)
	}
}

// landmarks imports the documents of the demo.
func (w *textFixture) landmarks() *textFixture {
	w.t.Helper()
	var docs []source.Document
	for line := range strings.Lines(string(demo.Library())) {
		var d struct {
			ID, Title, Text string
			Authors         []string
			Year            int
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			w.t.Fatal(err)
		}
		docs = append(docs, source.Document{
			ExternalID: d.ID, Title: d.Title, Authors: d.Authors, Text: d.Text, Year: d.Year,
		})
	}
	w.put(w.source, docs...)
	return w
}

func (w *textFixture) checker() *research.TextChecker {
	return research.NewTextChecker(research.TextCheckerDeps{
		Access: w.Agents, Agents: w.db, Library: w.library, Model: w.model, Payer: w.payer, Clock: w.Clock,
		Ranker: w.ranker,
	}, w.options)
}

// check checks a text for Ada, and verifies the offsets of the result.
func (w *textFixture) check(d research.Draft) research.CheckedText {
	w.t.Helper()
	got, err := w.checker().CheckText(w.t.Context(), w.Ada, w.Agent, d)
	if err != nil {
		w.t.Fatal(err)
	}
	w.verify(d, got)
	return got
}

// verify fails the test if a sentence or a quote is not where the result says, or a count is wrong.
func (w *textFixture) verify(d research.Draft, got research.CheckedText) {
	w.t.Helper()
	runes, at := []rune(d.Text), 0
	counts := map[thread.CheckState]int{}
	for _, s := range got.Sentences {
		if s.Start < at || s.End <= s.Start || s.End > len(runes) ||
			strings.TrimSpace(string(runes[s.Start:s.End])) != string(runes[s.Start:s.End]) {
			w.t.Errorf("a sentence from %d to %d of %d, after %d", s.Start, s.End, len(runes), at)
		}
		at = s.End
		counts[s.State]++
		for _, e := range s.Evidence {
			doc, err := w.library.Service.DocumentOf(w.t.Context(), w.Ada.UserID, w.Agent, e.DocumentID)
			if err != nil {
				w.t.Fatal(err)
			}
			text := []rune(doc.Text)
			if e.Start < 0 || e.End > len(text) || string(text[e.Start:e.End]) != e.Quote || e.Title != doc.Title ||
				e.SourceID != doc.SourceID || e.CardID != doc.CardID() {
				w.t.Errorf("the evidence %+v is not in its document", e)
			}
		}
		if (s.State == thread.Talk || s.State == thread.Uncited) != (len(s.Evidence) == 0) {
			w.t.Errorf("%s with %d quotes", s.State, len(s.Evidence))
		}
	}
	for state, n := range counts {
		if got.Counts[state] != n {
			w.t.Errorf("%d %s, counted %d", n, state, got.Counts[state])
		}
	}
}

// draftLine is a sentence of testdata/check_draft.txt.
type draftLine struct {
	text   string
	states []string
	false  bool
}

// demoDraft reads testdata/check_draft.txt, whose first lines explain the format.
func demoDraft(t testing.TB) (text string, lines []draftLine) {
	t.Helper()
	file, err := os.ReadFile("testdata/check_draft.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	begun := false
	for line := range strings.Lines(string(file)) {
		line = strings.TrimRight(line, "\n")
		states, sentence, ok := strings.Cut(line, "\t")
		switch {
		case line == "":
			b.WriteString("\n\n")
			begun = false
		case ok:
			states, untrue := strings.CutPrefix(states, "! ")
			l := draftLine{text: sentence, states: strings.Split(states, ","), false: untrue}
			lines = append(lines, l)
			block := strings.HasPrefix(sentence, "#") || strings.HasPrefix(sentence, "- ") ||
				strings.HasPrefix(sentence, "```") || strings.HasPrefix(sentence, "fmt.")
			if begun && block {
				b.WriteString("\n")
			} else if begun {
				b.WriteString(" ")
			}
			b.WriteString(sentence)
			if begun = true; strings.HasPrefix(sentence, "#") {
				b.WriteString("\n\n")
				begun = false
			}
		}
	}
	return b.String(), lines
}

// Ninety per cent of the states must be right, and no false sentence may be quoted or supported.
func TestTextCheckJudgesADraftAboutTheDemoLibrary(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t).landmarks()
	text, lines := demoDraft(t)
	got := w.check(research.Draft{Text: text})
	if len(got.Sentences) != len(lines) {
		t.Fatalf("%d sentences, want %d", len(got.Sentences), len(lines))
	}
	runes := []rune(text)
	right, claims := 0, 0
	for i, s := range got.Sentences {
		l := lines[i]
		if found := string(runes[s.Start:s.End]); found != l.text {
			t.Errorf("the sentence is %q, want %q", found, l.text)
		}
		if l.states[0] != "talk" {
			claims++
		}
		if slices.Contains(l.states, string(s.State)) {
			if l.states[0] != "talk" {
				right++
			}
		} else {
			t.Logf("%s, want %v: %s (%s %s)", s.State, l.states, l.text, s.Reason, s.Detail)
			for _, e := range s.Evidence {
				t.Logf("    %s: %s", e.Stance, e.Quote)
			}
			if l.states[0] == "talk" {
				t.Errorf("%s is %s", l.text, s.State)
			}
		}
		if l.false && (s.State == thread.Quoted || s.State == thread.Supported) {
			t.Errorf("a false sentence is %s: %s", s.State, l.text)
		}
	}
	t.Logf("%d of %d sentences are right", right, claims)
	if claims < 40 || right*10 < claims*9 {
		t.Errorf("only %d of %d sentences are right", right, claims)
	}
}

func TestTextCheckNeedsTheRightToUseTheAgent(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	d := research.Draft{Text: "A bridge was built."}
	for name, c := range map[string]struct {
		actor core.Actor
		kind  core.Kind
	}{
		"another user": {w.Bob, core.KindNotFound},
		"nobody":       {core.Actor{}, core.KindForbidden},
		"no plan": {
			core.Actor{UserID: w.Ada.UserID, Plan: core.PlanNone, Credential: core.CredentialKey, Scopes: w.Ada.Scopes},
			core.KindPaymentRequired,
		},
	} {
		if _, err := w.checker().CheckText(t.Context(), c.actor, w.Agent, d); !core.IsKind(err, c.kind) {
			t.Errorf("%s: %v, want %v", name, err, c.kind)
		}
	}
	if n := w.library.searches.Load(); n != 0 {
		t.Errorf("%d searches", n)
	}
}

func TestTextCheckRefusesATextThatIsTooLong(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	for _, text := range []string{"", " \n", strings.Repeat("ä", 20_001), "a\x00b"} {
		_, err := w.checker().CheckText(t.Context(), w.Ada, w.Agent, research.Draft{Text: text})
		if e := core.AsError(err); e.Kind != core.KindInvalid || e.Fields[0].Pointer != "/text" {
			t.Errorf("%.10q: %v", text, err)
		}
	}
	w.check(research.Draft{Text: " " + strings.Repeat("ä", 20_000) + "\n"})
}

// One search for each sentence that states a fact, one count of the words, and each document is loaded once.
func TestTextCheckReadsEachDocumentOnce(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t).landmarks()
	text, lines := demoDraft(t)
	w.check(research.Draft{Text: text})
	claims := int64(0)
	for _, l := range lines {
		if l.states[0] != "talk" {
			claims++
		}
	}
	l := w.library
	if l.searches.Load() != claims || l.statistics.Load() != 1 || l.loads.Load() != 1 || l.documents.Load() > 64 ||
		l.read.Load() != 0 {
		t.Errorf("%d searches for %d sentences, %d counts, %d documents in %d loads, %d read",
			l.searches.Load(), claims, l.statistics.Load(), l.documents.Load(), l.loads.Load(), l.read.Load())
	}
	before := l.searches.Load()
	w.check(research.Draft{Text: "Hello! What is a bridge?\n\n# Bridges\n\n- Thank you!"})
	if n := l.searches.Load() - before; n != 0 {
		t.Errorf("%d searches for a text that states nothing", n)
	}
}

func TestTextCheckReadsOnlyTheGivenDocuments(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	long := strings.Repeat("Nothing of interest is said here about anything at all. ", 400)
	w.put(w.source,
		source.Document{ExternalID: "a", Title: "Bridges", Text: long + "\n\nThe iron bridge was opened in 1781.\n\n" + long},
		source.Document{ExternalID: "b", Title: "Ferries", Text: "The iron bridge was opened in 1790."},
	)
	ids := map[string]string{}
	for d, err := range w.db.ScanDocuments(t.Context(), w.source.ID) {
		if err != nil {
			t.Fatal(err)
		}
		ids[d.ExternalID] = d.ID
	}
	const text = "The iron bridge was opened in 1781."
	for name, want := range map[string]thread.CheckState{"a": thread.Quoted, "b": thread.Contradicted} {
		got := w.check(research.Draft{Text: text, DocumentIDs: []string{ids[name], ids[name]}}).Sentences[0]
		if got.State != want || len(got.Evidence) == 0 || got.Evidence[0].DocumentID != ids[name] {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	if l := w.library; l.searches.Load() != 0 || l.read.Load() != 2 {
		t.Errorf("%d searches, %d documents read", l.searches.Load(), l.read.Load())
	}
	// Support outweighs contradiction, and both are shown.
	got := w.check(research.Draft{Text: text}).Sentences[0]
	if got.State != thread.Quoted || len(got.Evidence) != 2 || got.Evidence[0].Stance != research.Supports ||
		got.Evidence[1].Stance != research.Contradicts {
		t.Errorf("with both: %+v", got)
	}
	_, err := w.checker().CheckText(t.Context(), w.Bob, w.BobsAgent, research.Draft{
		Text: text, DocumentIDs: []string{ids["a"]},
	})
	if !core.IsKind(err, core.KindNotFound) {
		t.Errorf("a document of another agent: %v", err)
	}
}

func TestPronounIsComparedWithTheSubjectOfTheSentenceBefore(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	w.put(w.source,
		source.Document{Title: "Tall buildings", Text: "The Orvieto Tower stands in the harbour. It has 48 floors."},
		source.Document{Title: "Other buildings", Text: "The Lindgren House stands on the hill. It has 12 floors."},
	)
	for text, want := range map[string]thread.CheckState{
		"The Orvieto Tower stands in the harbour. It has 48 floors.": thread.Quoted,
		"The Lindgren House stands on the hill. It has 12 floors.":   thread.Quoted,
		"The Orvieto Tower stands in the harbour. It has 12 floors.": thread.Contradicted,
		"The Lindgren House stands on the hill. It has 48 floors.":   thread.Contradicted,
		"The Zubrowka Palace is old. It has 48 floors.":              thread.Uncited,
	} {
		got := w.check(research.Draft{Text: text}).Sentences[1]
		if got.State != want {
			t.Errorf("%s: %s, want %s (%s) %+v", text, got.State, want, got.Detail, got.Evidence)
		}
	}
}

// Markdown, citations and line ends of any kind leave the offsets of sentences correct; check verifies them.
func TestMarkdownInATextDoesNotMoveItsSentences(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	w.put(w.source, source.Document{Title: "Bridges", Text: "The iron bridge was opened in 1781."})
	for text, want := range map[string]string{
		"\r\n\r\n The **iron** bridge was opened in `1781`.\r\n":                  "quoted",
		"# Title\n\n> The iron bridge\n> was opened in 1781. [2, 3]":              "talk quoted",
		"1. The [iron bridge](https://example.org/a_(b)) was opened in 1781 [1].": "quoted",
		"* The _iron bridge_ was opened in 1781.[^1]\n\n[^1]: ibid.":              "quoted talk",
		"| a | b |\n|---|---|\n| The iron bridge | 1781 |":                        "talk talk talk",
		"```go\nThe iron bridge was opened in 1781.\n```":                         "talk talk talk",
		"😀 Ä. The iron bridge was opened in 1999.":                                "talk contradicted",
		"“The iron bridge was opened in 1781.”":                                   "quoted",
		"\"The iron bridge\" was -opened author:in 1781.":                         "cited",
	} {
		var states []string
		for _, s := range w.check(research.Draft{Text: text, Markdown: true}).Sentences {
			states = append(states, string(s.State))
		}
		if got := strings.Join(states, " "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestTextCheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t).landmarks()
	text, _ := demoDraft(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.library.found = func(context.Context) error { cancel(); return nil }
	_, err := w.checker().CheckText(ctx, w.Ada, w.Agent, research.Draft{Text: text})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled check ends with %v", err)
	}
	if n := w.library.searches.Load(); n > 8 {
		t.Errorf("%d searches after the end of the context", n)
	}
}

// Documents in another language are found by their own words, and judged like answers.
func TestTextCheckReadsGermanSources(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	src, err := w.library.SetLanguage(t.Context(), w.Ada, w.source, "de")
	if err != nil {
		t.Fatal(err)
	}
	w.put(src, source.Document{
		Title: "Brücken", Text: "Die eiserne Brücke wurde im Jahr 1781 eröffnet. Sie hat drei Bögen.",
	})
	for text, want := range map[string]thread.CheckState{
		"Die eiserne Brücke wurde im Jahr 1781 eröffnet.": thread.Quoted,
		"Die eiserne Brücke wurde im Jahr 1881 eröffnet.": thread.Contradicted,
		"Der Bäcker backt jeden Morgen frische Brötchen.": thread.Uncited,
	} {
		if got := w.check(research.Draft{Text: text}).Sentences[0]; got.State != want {
			t.Errorf("%s: %+v, want %s", text, got, want)
		}
	}
}

// A text costs hundreds of searches, so that only a few are compared at a time.
func TestTextChecksWaitForOneAnother(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t).landmarks()
	w.options.MaxRunning = 1
	entered, release := make(chan struct{}), make(chan struct{})
	w.library.found = func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}
	c, d := w.checker(), research.Draft{Text: "Dijkstra devised the path algorithm in 1956."}
	first := make(chan error, 1)
	go func() {
		_, err := c.CheckText(t.Context(), w.Ada, w.Agent, d)
		first <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.CheckText(ctx, w.Ada, w.Agent, d); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a waiting check ends with %v", err)
	}
	if n := w.library.searches.Load(); n != 1 {
		t.Errorf("%d searches", n)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
