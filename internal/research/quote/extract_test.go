package quote

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// library is a few documents on different subjects.
var library = []Passage{
	{
		DocumentID: "tower", SourceID: "s1", Title: "The Eiffel Tower", Year: 2001, Page: 3, Start: 100,
		Text: "The Eiffel Tower stands in Paris. It was finished in 1889 by the company of Gustave Eiffel. " +
			"Many artists protested against it. Today it is 330 metres tall.",
	},
	{
		DocumentID: "bridge", SourceID: "s1", Title: "Bridges of Portugal", Year: 1999,
		Text: "Gustave Eiffel also built bridges. The Maria Pia bridge in Porto was finished in 1877. " +
			"It crosses the Douro because the railway needed a way to the south.",
	},
	{
		DocumentID: "liberty", SourceID: "s2", Title: "Liberty", Year: 2010,
		Text: "The Statue of Liberty has an iron frame by Gustave Eiffel. The statue was a gift of France.",
	},
	{
		DocumentID: "whales", SourceID: "s2", Title: "Whales",
		Text: "Blue whales eat krill. A grown blue whale eats 4 tons of krill every day. They live in all oceans.",
	},
}

func answer(t *testing.T, question string) Answer {
	t.Helper()
	e := New("en")
	return e.Answer(e.Ask(question, Talk{}, nil), library, nil)
}

func TestTheBestSentencesAreQuotedWordForWord(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"When was the Eiffel Tower finished?": "The Eiffel Tower stands in Paris. It was finished in 1889 by the " +
			"company of Gustave Eiffel.",
		"How much krill does a blue whale eat a day?":  "A grown blue whale eats 4 tons of krill every day.",
		"Who made the frame of the Statue of Liberty?": "The Statue of Liberty has an iron frame by Gustave Eiffel.",
		"When was the Maria Pia bridge finished?":      "The Maria Pia bridge in Porto was finished in 1877.",
	} {
		got := answer(t, question)
		if got.Outcome != Answered || len(got.Quotes) == 0 || !strings.Contains(got.Quotes[0].Text, want) {
			t.Errorf("%q: outcome %d, coverage %.2f, quotes %+v", question, got.Outcome, got.Coverage, got.Quotes)
		}
	}
}

func TestQuoteHasItsOffsetsAndOrigin(t *testing.T) {
	t.Parallel()
	got := answer(t, "When was the Eiffel Tower finished?").Quotes[0]
	want := Quote{
		DocumentID: "tower", SourceID: "s1", Title: "The Eiffel Tower", Year: 2001, Page: 3,
		Text: "The Eiffel Tower stands in Paris. It was finished in 1889 by the company of Gustave Eiffel.", Start: 100,
		End: 191,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSentenceThatRefersBackIsQuotedWithTheOneBefore(t *testing.T) {
	t.Parallel()
	e := New("en")
	passages := []Passage{
		{DocumentID: "a", Text: "Ada wrote programs. She published them in 1843 with long notes."},
		{DocumentID: "b", Text: "Ada wrote letters.\n\nShe published notes in 1843 in a new paragraph, notes notes."},
	}
	got := e.Answer(e.Ask("When were the notes published?", Talk{}, nil), passages, nil)
	var texts []string
	for _, quote := range got.Quotes {
		texts = append(texts, quote.Text)
	}
	slices.Sort(texts)
	want := []string{
		"Ada wrote programs. She published them in 1843 with long notes.",
		"She published notes in 1843 in a new paragraph, notes notes.",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("quotes are %q, want %q", texts, want)
	}
}

func TestQuestionsWithoutAMatchAreNotAnswered(t *testing.T) {
	t.Parallel()
	got := answer(t, "Which enzymes digest cellulose in termites?")
	if got.Outcome != Nothing || len(got.Quotes) != 0 || len(got.FollowUps) != 0 {
		t.Errorf("outcome %d with %+v", got.Outcome, got.Quotes)
	}
	if want := []string{"enzymes", "digest", "cellulose", "termites"}; !slices.Equal(got.Unmatched, want) {
		t.Errorf("unmatched are %q, want %q", got.Unmatched, want)
	}
	near := answer(t, "Which enzymes did Gustave Eiffel use in his bridges?")
	if near.Outcome != Closest || !slices.Equal(near.Unmatched, []string{"enzymes"}) || len(near.Quotes) == 0 {
		t.Errorf("outcome %d, coverage %.2f, unmatched %q", near.Outcome, near.Coverage, near.Unmatched)
	}
}

func TestAWordOfAnotherPassageIsMissing(t *testing.T) {
	t.Parallel()
	got := answer(t, "How tall is the Maria Pia bridge in Porto?")
	if !slices.Equal(got.Missing, []string{"tall"}) || len(got.Unmatched) != 0 {
		t.Errorf("missing %q, unmatched %q", got.Missing, got.Unmatched)
	}
}

func TestQuestionsWithoutWordsAndSearchesWithoutPassagesFindNothing(t *testing.T) {
	t.Parallel()
	e := New("en")
	for _, question := range []string{"", "?", "What is it?", "the"} {
		if got := e.Answer(e.Ask(question, Talk{}, nil), library, nil); got.Outcome != Nothing || len(got.Unmatched) != 0 {
			t.Errorf("%q: %+v", question, got)
		}
	}
	got := e.Answer(e.Ask("When was the tower finished?", Talk{}, nil), nil, nil)
	if got.Outcome != Nothing || !slices.Equal(got.Unmatched, []string{"tower", "finished"}) {
		t.Errorf("without passages: %+v", got)
	}
	if got := e.Answer(
		e.Ask("tower", Talk{}, nil), []Passage{{DocumentID: "x"}, {DocumentID: "y", Text: "###\n\n---"}}, nil,
	); got.Outcome != Nothing {
		t.Errorf("of empty passages: %+v", got)
	}
}

func TestOneDocumentDoesNotAnswerAlone(t *testing.T) {
	t.Parallel()
	e := New("en")
	var text strings.Builder
	for i := range 9 {
		fmt.Fprintf(&text, "Salmon number %d swims up the river for reason %d. Something else happens there. ", i, i)
	}
	passages := []Passage{
		{DocumentID: "a", Text: text.String()},
		{DocumentID: "b", Text: "Some say that salmon swim up a river to spawn in quiet water."},
	}
	got := e.Answer(e.Ask("Why do salmon swim up the river?", Talk{}, nil), passages, nil)
	counts := make(map[string]int)
	for _, quote := range got.Quotes {
		counts[quote.DocumentID]++
	}
	if counts["a"] != maxOfDocument || counts["b"] == 0 {
		t.Errorf("the quotes come from %v: %+v", counts, got.Quotes)
	}
}

func TestTheSameSentenceIsQuotedOnce(t *testing.T) {
	t.Parallel()
	e := New("en")
	same := "Salmon swim up the river to spawn."
	passages := []Passage{
		{DocumentID: "a", Text: same}, {DocumentID: "b", Text: same + " More."}, {DocumentID: "a", Text: same, Start: 0},
	}
	got := e.Answer(e.Ask("Why do salmon swim up the river?", Talk{}, nil), passages, nil)
	if len(got.Quotes) != 1 {
		t.Errorf("the quotes are %+v", got.Quotes)
	}
}

func TestNeighboursBecomeOneQuote(t *testing.T) {
	t.Parallel()
	e := New("en")
	passages := []Passage{
		{DocumentID: "a", Text: "Salmon spawn in the river in spring. In spring salmon leave the wide sea. Bears wait."},
	}
	got := e.Answer(e.Ask("When do salmon spawn in spring?", Talk{}, nil), passages, nil)
	if len(got.Quotes) != 1 || got.Quotes[0].Text != "Salmon spawn in the river in spring. In spring salmon leave the "+
		"wide sea." {
		t.Errorf("the quotes are %+v", got.Quotes)
	}
}

func TestHeadingsAreNotQuotedAndItemsLoseTheirMarks(t *testing.T) {
	t.Parallel()
	e := New("en")
	passages := []Passage{
		{DocumentID: "a", Text: "# Why salmon swim up the river\n\n- They swim up the river to spawn\n- They rest"},
	}
	got := e.Answer(e.Ask("Why do salmon swim up the river?", Talk{}, nil), passages, nil)
	if len(got.Quotes) == 0 || got.Quotes[0].Text != "They swim up the river to spawn" {
		t.Errorf("the quotes are %+v", got.Quotes)
	}
}

func TestSearchScoresInfluenceTheOrder(t *testing.T) {
	t.Parallel()
	e := New("en")
	passages := []Passage{
		{DocumentID: "a", Text: "Salmon swim up the river at night."},
		{DocumentID: "b", Text: "Salmon swim up the river at dawn."},
	}
	q := e.Ask("When do salmon swim up the river?", Talk{}, nil)
	for i := range passages {
		passages[0].Score, passages[1].Score = 1, 1
		passages[i].Score = 9
		if got := e.Rank(q, passages, nil); got[0].Passage != i {
			t.Errorf("passage %d is not the first: %+v", i, got)
		}
	}
}

func TestOtherScriptsAreAnswered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ language, question, text, want string }{
		{"zh", "埃菲尔铁塔是什么时候建成的？", "埃菲尔铁塔位于巴黎。埃菲尔铁塔于1889年建成。许多人喜欢它。", "埃菲尔铁塔于1889年建成。"},
		{
			"ru", "Когда была построена башня?", "Башня стоит в Париже. Башня была построена в 1889 году. Её любят.",
			"Башня была построена в 1889 году.",
		},
		{
			"de", "Wann wurde der Turm gebaut?",
			"Der Turm steht in Paris. Der Turm wurde z. B. Ende des 19. Jahrhunderts gebaut.",
			"Der Turm wurde z. B. Ende des 19. Jahrhunderts gebaut.",
		},
		{
			"fr", "Quand la tour fut-elle construite ?", "La tour est à Paris. La tour fut construite en 1889.",
			"La tour fut construite en 1889.",
		},
	} {
		e := New(test.language)
		passages := []Passage{{DocumentID: "a", Text: test.text}, {DocumentID: "b", Text: "Something else. 別の話。"}}
		got := e.Answer(e.Ask(test.question, Talk{}, nil), passages, nil)
		if len(got.Quotes) == 0 || !strings.Contains(got.Quotes[0].Text, test.want) {
			t.Errorf("%s: outcome %d (%.2f), %+v", test.language, got.Outcome, got.Coverage, got.Quotes)
		}
		if got.FollowUps != nil {
			t.Errorf("%s: English follow-ups %q", test.language, got.FollowUps)
		}
	}
}

func TestEveryQuoteIsTheTextAtItsPlace(t *testing.T) {
	t.Parallel()
	words := []string{
		"salmon", "River", "swim", "1889", "He", "It", "spawn.", "Dr.", "(see", "p. 4)", "“so.”", "\n\n", "# Up", "- item",
		"川。", "e\u0301",
		"\xff", "🇩🇪", "because", "the",
	}
	rapid.Check(t, func(t *rapid.T) {
		documents := make(map[string][]rune)
		var passages []Passage
		for i := range rapid.IntRange(1, 4).Draw(t, "documents") {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 60).Draw(t, "text"), " ")
			id := fmt.Sprint("d", i)
			prefix := rapid.IntRange(0, 9).Draw(t, "start")
			documents[id] = []rune(strings.Repeat("ä", prefix) + text)
			passages = append(passages, Passage{DocumentID: id, Text: text, Start: prefix})
		}
		e := New("en")
		got := e.Answer(e.Ask("When do salmon swim in the river to spawn?", Talk{}, nil), passages, nil)
		counts := make(map[string]int)
		for i, quote := range got.Quotes {
			document := documents[quote.DocumentID]
			if quote.Start < 0 || quote.End > len(document) || quote.Start >= quote.End {
				t.Fatalf("quote at %d–%d of %d", quote.Start, quote.End, len(document))
			}
			if want := string(document[quote.Start:quote.End]); want != string([]rune(quote.Text)) {
				t.Fatalf("quote %q at the place of %q", quote.Text, want)
			}
			counts[quote.DocumentID]++
			for _, other := range got.Quotes[:i] {
				if other.DocumentID == quote.DocumentID && quote.Start < other.End && other.Start < quote.End {
					t.Fatalf("%q and %q overlap", quote.Text, other.Text)
				}
			}
		}
		if len(got.Quotes) > maxQuoted {
			t.Fatalf("%d quotes", len(got.Quotes))
		}
		for id, n := range counts {
			if n > maxOfDocument {
				t.Fatalf("%d quotes of %s", n, id)
			}
		}
		if got.Coverage < 0 || got.Coverage > 1 {
			t.Fatalf("coverage %f", got.Coverage)
		}
	})
}
