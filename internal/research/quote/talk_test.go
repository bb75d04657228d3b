package quote

import (
	"slices"
	"testing"
)

func TestAFollowUpIsCompletedFromTheTalk(t *testing.T) {
	t.Parallel()
	before := Talk{Question: "When was the Eiffel Tower finished?", Titles: []string{"Gustave Eiffel and his towers"}}
	for _, test := range []struct {
		question string
		added    []string
	}{
		{"How tall is it exactly without its antenna?", []string{"Eiffel", "Tower", "finished", "Gustave"}},
		{"Who paid?", []string{"Eiffel", "Tower", "finished", "Gustave"}},
		{"And what else?", []string{"Eiffel", "Tower", "finished"}}, // the title would find the same again
		{"Which whales eat krill in arctic seas?", nil},
		{"When did Einstein write his famous letter?", nil},
		{"How tall is the tower?", []string{"Eiffel", "finished", "Gustave"}},
	} {
		e := New("en")
		got := e.Ask(test.question, before, nil)
		if !slices.Equal(got.Added, test.added) {
			t.Errorf("%q is completed with %q, want %q", test.question, got.Added, test.added)
		}
		if first := e.Ask(test.question, Talk{}, nil); first.Added != nil || first.Text != test.question {
			t.Errorf("%q is completed with %q from nothing", test.question, first.Added)
		}
	}
	got := New("en").Ask("Who paid?", before, nil)
	if want := "Who paid? Eiffel Tower finished Gustave"; got.Text != want {
		t.Errorf("searched for is %q, want %q", got.Text, want)
	}
}

// numbers are statistics from a table.
type numbers map[string]int

func (numbers) Units() int                { return 100 }
func (n numbers) Holders(term string) int { return n[term] }

func TestMostDistinctiveWordsAreAdded(t *testing.T) {
	t.Parallel()
	statistics := numbers{"tower": 50, "eiffel": 3, "finish": 90, "old": 80, "citi": 70, "mani": 60, "paint": 2}
	before := Talk{Question: "Was the old Eiffel tower of many cities finished or painted by Xyzzy?"}
	got := New("en").Ask("Why was it?", before, statistics)
	if want := []string{"Eiffel", "tower", "many", "painted"}; !slices.Equal(got.Added, want) {
		t.Errorf("added are %q, want %q", got.Added, want)
	}
}

func TestWordsThatNoSourceHoldsAreNotAdded(t *testing.T) {
	t.Parallel()
	got := New("en").Ask("Why was it?", Talk{Question: "Did Xyzzy paint?"}, numbers{"paint": 2})
	if !slices.Equal(got.Added, []string{"paint"}) {
		t.Errorf("added are %q", got.Added)
	}
}

func TestAddedWordsCountLessThanTheQuestionsOwn(t *testing.T) {
	t.Parallel()
	before := Talk{Question: "When was the old Eiffel Tower painted?"}
	for question, want := range map[string]float64{
		"How tall is it today in metres?": addedWeight, // it refers back
		"Krill?":                          0.125,       // it may be complete: four words count at most half
		"And what else?":                  1,           // it has no words of its own
	} {
		for _, added := range New("en").Ask(question, before, nil).terms {
			if slices.Contains([]string{"eiffel", "tower"}, added.text) && added.weight != want {
				t.Errorf("%q: %q weighs %v, want %v", question, added.text, added.weight, want)
			}
		}
	}
}

func TestAddedWordsDecideBetweenPassagesOnly(t *testing.T) {
	t.Parallel()
	e := New("en")
	before := Talk{Question: "When was the Eiffel Tower finished?"}
	passages := []Passage{
		{DocumentID: "bridge", Text: "The bridge is 61 metres tall."},
		{DocumentID: "tower", Text: "The Eiffel Tower is 330 metres tall."},
	}
	got := e.Answer(e.Ask("How tall is it?", before, nil), passages, nil)
	if len(got.Quotes) == 0 || got.Quotes[0].DocumentID != "tower" {
		t.Errorf("the quotes are %+v", got.Quotes)
	}
	// A question that needs no completion is answered by a passage about it alone.
	passages = []Passage{
		{DocumentID: "krill", Text: "Krill is a small animal of the sea."},
		{DocumentID: "tower", Text: "The Eiffel Tower was finished in 1889."},
	}
	got = e.Answer(e.Ask("What is krill?", before, nil), passages, nil)
	if got.Outcome != Answered || got.Quotes[0].DocumentID != "krill" {
		t.Errorf("outcome %d (%.2f), %+v", got.Outcome, got.Coverage, got.Quotes)
	}
	if len(got.Unmatched) != 0 || len(got.Missing) != 0 {
		t.Errorf("added words count as missing: %q, %q", got.Unmatched, got.Missing)
	}
}

func TestFollowUpsAskForWhatOtherSourcesNameToo(t *testing.T) {
	t.Parallel()
	e := New("en")
	ask := func(passages ...Passage) []string {
		return e.Answer(e.Ask("When was the Eiffel Tower in Paris finished?", Talk{}, nil), passages, nil).FollowUps
	}
	tower := Passage{
		DocumentID: "a",
		Text:       "The Eiffel Tower in Paris was finished in 1889 by Maurice Koechlin of the SNCF with Émile Nouguier.",
	}
	other := Passage{DocumentID: "b", Text: "Maurice Koechlin was born in Buhl. He knew the SNCF well."}
	again := Passage{DocumentID: "a", Text: "Émile Nouguier was here.", Start: 500}
	want := []string{"What else can you tell me about Maurice Koechlin?", "What else can you tell me about SNCF?"}
	if got := ask(tower, other, again); !slices.Equal(got, want) {
		t.Errorf("follow-ups are %q, want %q", got, want)
	}
	if got := ask(tower); got != nil {
		t.Errorf("nobody else speaks of %q", got)
	}
}

func TestQuestionsHaveAKindOfAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		language, question string
		want               kind
	}{
		{"en", "How many people came?", number},
		{"en", "What percentage of them left?", number},
		{"en", "In what year did it end?", date},
		{"en", "When did it end?", date},
		{"en", "Who was there?", name},
		{"en", "Where is it?", place},
		{"en", "Why did it end?", cause},
		{"en", "What is the whole?", definition},
		{"en", "Which is the whole?", anything},
		{"en", "How does it end?", manner},
		{"de", "Wie viele kamen?", number},
		{"de", "Wann war das?", date},
		{"fr", "En quelle année ?", date},
		{"fr", "Où est Paris ?", place},
		{"es", "¿Por qué pasó?", cause},
		{"it", "Perché è così?", cause},
		{"pt", "Quantos vieram?", number},
		{"nl", "Wie was het?", name},
		{"ru", "Сколько их было?", number},
		{"zh", "谁写了这本书？", name},
		{"ja", "いつ建てられましたか", date},
	} {
		if got := New(test.language).Ask(test.question, Talk{}, nil).kind; got != test.want {
			t.Errorf("%s %q asks for %d, want %d", test.language, test.question, got, test.want)
		}
	}
}

func TestWordsThatBeginAlikeAreRelated(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"invad", "invas", false},
		{"defens", "defend", true},
		{"author", "authorit", true},
		{"pharmaci", "pharmacist", true},
		{"12345", "12346", false},
		{"自然言語処", "自然言語理", false},
		{"国际", "国家", false},
		{"библиотек", "библиотеч", true},
		{"interest", "internet", false},
	} {
		if got := isRelated(test.a, test.b); got != test.want {
			t.Errorf("isRelated(%q, %q) is %v", test.a, test.b, got)
		}
	}
}
