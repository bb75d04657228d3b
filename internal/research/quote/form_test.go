package quote

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// fourDocuments are four documents about two subjects.
var fourDocuments = []Passage{
	{
		DocumentID: "bridge", Title: "The iron bridge", Year: 1781, Text: "The iron bridge spans the Severn. " +
			"Abraham Darby cast its parts in 1779. The parts weigh 378 tons.",
	},
	{
		DocumentID: "tower", Title: "The iron tower", Year: 1889, Text: "The iron tower stands in Paris. It was built " +
			"by Gustave Eiffel. Critics disliked the tower. Their reason was that it dwarfed the churches around.",
	},
	{
		DocumentID: "bread", Title: "Baking", Year: 1955, Text: "Bread is baked from flour. Maurice Calvel wrote about " +
			"sour-dough in 1952. It rises overnight.",
	},
	{DocumentID: "oven", Title: "Ovens", Year: 1990, Text: "An oven bakes bread. Long short-term storage ruins it."},
}

func answerFrom(question string, before Talk) Answer {
	e := New("en")
	return e.Answer(e.Ask(question, before, nil), fourDocuments, nil)
}

func documentsOf(quotes []Quote) []string {
	var out []string
	for _, q := range quotes {
		out = append(out, q.DocumentID)
	}
	return out
}

func TestAQuestionForDocumentsIsAnsweredWithAList(t *testing.T) {
	t.Parallel()
	for question, want := range map[string][]string{
		"Which papers are about bread?":                {"bread", "oven"},
		"list everything on iron":                      {"bridge", "tower"},
		"Are there any documents about bread?":         {"bread", "oven"},
		"papers from before 1900":                      {"bridge", "tower"},
		"Which documents are from the 1990s?":          {"oven"},
		"papers about bread since 1960":                {"oven"},
		"Which works between 1900 and 1960 mention it": {"bread"},
	} {
		got := answerFrom(question, Talk{})
		documents := documentsOf(got.Quotes)
		slices.Sort(documents)
		if got.Form != List || got.Outcome != Answered || !slices.Equal(documents, want) {
			t.Errorf("%q: form %d, outcome %d, %q", question, got.Form, got.Outcome, documents)
		}
	}
	for _, question := range []string{
		"What is the name of the tower?", "Which paper was the first?", "What books did Calvel write?",
		"Who wrote the papers on bread?",
	} {
		if got := New("en").Ask(question, Talk{}, nil); got.form == List {
			t.Errorf("%q asks for a list", question)
		}
	}
	if got := answerFrom("Which papers are about whales?", Talk{}); got.Outcome != Nothing || len(got.Quotes) > 0 {
		t.Errorf("whales: %+v", got)
	}
	if from, to := New("en").Ask("papers after 1950", Talk{}, nil).Years(); from != 1951 || to != 0 {
		t.Errorf("the years are %d to %d", from, to)
	}
}

func TestAComparisonHasABlockForEachSide(t *testing.T) {
	t.Parallel()
	for _, question := range []string{
		"Compare the bridge and the tower", "What is the difference between the bridge and the tower?", "bridge vs tower",
		"How does the bridge differ from the tower?", "How do the bridge and the tower compare?",
	} {
		got := answerFrom(question, Talk{})
		if got.Form != Comparison || got.Outcome != Answered || len(got.Quotes) < 2 {
			t.Errorf("%q: form %d, outcome %d, %+v", question, got.Form, got.Outcome, got.Quotes)
			continue
		}
		for _, q := range got.Quotes {
			if q.Subject != q.DocumentID { // the subjects are named like the documents
				t.Errorf("%q: %s is quoted for %q", question, q.DocumentID, q.Subject)
			}
		}
	}
	if got := answerFrom("Compare the bridge and whales", Talk{}); got.Outcome != Closest || len(got.Quotes) == 0 {
		t.Errorf("one side is unknown: outcome %d, %+v", got.Outcome, got.Quotes)
	}
	if got := answerFrom("Compare whales and sharks", Talk{}); got.Outcome != Nothing {
		t.Errorf("both sides are unknown: outcome %d", got.Outcome)
	}
	for _, question := range []string{"Compare this", "What is the difference?", "versus", "How do they compare?"} {
		if got := New("en").Ask(question, Talk{}, nil); got.form == Comparison {
			t.Errorf("%q compares %q", question, got.sides)
		}
	}
}

func TestAskingForMoreDoesNotRepeatAQuote(t *testing.T) {
	t.Parallel()
	first := answerFrom("What is the iron tower?", Talk{})
	if len(first.Quotes) == 0 || first.Quotes[0].DocumentID != "tower" {
		t.Fatalf("quoted %+v", first.Quotes)
	}
	before := Talk{
		Question: "What is the iron tower?", Documents: []string{"tower"}, Titles: []string{"The iron tower"},
		Quoted: first.Quotes,
	}
	second := answerFrom("What else?", before)
	if len(second.Quotes) == 0 || slices.ContainsFunc(second.Quotes, first.Quotes[0].overlaps) {
		t.Errorf("quoted again: %+v", second.Quotes)
	}
}

// The right kind of thing must be near a word of the question, or the quotes are only the closest.
func TestAPersonIsAnsweredOnlyIfOneIsNamed(t *testing.T) {
	t.Parallel()
	passages := func(text string) []Passage { return documents(text, "Something else stands here.") }
	for _, c := range []struct {
		question, text string
		want           Outcome
	}{
		{"Who painted the old mill?", "The old mill was painted by Jan Toorop.", Answered},
		{"Who painted the old mill?", "The old mill was painted white and green.", Closest},
		{"When was the old mill painted?", "The old mill was painted white and green.", Closest},
		{"When was the old mill painted?", "The old mill was painted in June 1702.", Answered},
		{"How many rooms has the old mill?", "The old mill has rooms since 1702.", Closest},
		{"How many rooms has the old mill?", "The old mill has twelve rooms.", Answered},
		{"Where is the old mill?", "The old mill is owned by Jan Toorop.", Closest},
		{"Where is the old mill?", "The old mill is in Delft.", Answered},
	} {
		if _, got := first("en", c.question, passages(c.text)...); got.Outcome != c.want {
			t.Errorf("%q, %q: outcome %d (%.2f), want %d", c.question, c.text, got.Outcome, got.Coverage, c.want)
		}
	}
}

func TestTheReasonAfterASentenceIsQuoted(t *testing.T) {
	t.Parallel()
	got := answerFrom("Why did critics dislike the tower?", Talk{})
	if len(got.Quotes) == 0 || !strings.Contains(got.Quotes[0].Text, "dwarfed the churches") {
		t.Errorf("quoted %+v", got.Quotes)
	}
}

func TestSpellingsOfAWordMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ question, text string }{
		{"What is backpropagation?", "The method of back-propagation trains networks."},
		{"What is back-propagation?", "The method of backpropagation trains networks."},
		{"What is back propagation?", "The method of backpropagation trains networks."},
		{"What is LSTM?", "A long short-term memory keeps values."},
	} {
		got, a := first("en", c.question, documents(c.text, "Something else stands here.")...)
		if got != c.text || a.Outcome == Nothing {
			t.Errorf("%q: quoted %q, outcome %d (%.2f)", c.question, got, a.Outcome, a.Coverage)
		}
	}
	if got := New("en").Ask("What is back-propagation?", Talk{}, nil); !strings.Contains(got.Text, "backpropagation") {
		t.Errorf("searched for is %q", got.Text)
	}
	if got := New("en").Ask("What is backpropagation?", Talk{}, nil); !strings.Contains(got.Text, "back-propagation") {
		t.Errorf("searched for is %q", got.Text)
	}
}

func TestParticlesAndFillersCountLittle(t *testing.T) {
	t.Parallel()
	for _, question := range []string{
		"Who came up with the iron tower?", "How was the iron tower supposed to look?", "Who is behind the iron tower?",
	} {
		got := answerFrom(question, Talk{})
		if got.Outcome != Answered && len(got.Missing) > 1 || len(got.Quotes) == 0 || got.Quotes[0].DocumentID != "tower" {
			t.Errorf("%q: outcome %d, missing %q, %+v", question, got.Outcome, got.Missing, got.Quotes)
		}
	}
}

// Whatever is asked, the quotes are parts of the passages, and a message that is no question has a reply.
func FuzzEveryMessageHasAnAnswerFromThePassages(f *testing.F) {
	for _, message := range []string{
		"Which papers are from the 1990s?", "Compare A and B", "a vs b", "Who else besides X?", "whos", "in one sentence",
		"How long?", "back-propagation vs RNNs", "ใคร versus 谁", "list",
	} {
		f.Add(message, "It is. The RNN of 1990 took 3 days, so that back-propagation began.")
	}
	e := New("en")
	f.Fuzz(func(t *testing.T, message, text string) {
		if !utf8.ValidString(message + text) {
			t.Skip("messages and documents are stored as valid UTF-8")
		}
		if intent := IntentOf(message); (Reply(intent, Occasion{Message: message}) == "") != (intent == AskSources) {
			t.Errorf("the reply to intent %d is empty, or a question has one", intent)
		}
		before := Talk{Question: "Who is it?", Quoted: []Quote{{DocumentID: "a", End: 5}}}
		passages := []Passage{{DocumentID: "a", Title: message, Text: text}, {DocumentID: "b", Title: text, Text: message}}
		got := e.Answer(e.Ask(message, before, nil), passages, nil)
		if (got.Outcome == Nothing) != (len(got.Quotes) == 0) {
			t.Errorf("outcome %d with %d quotes", got.Outcome, len(got.Quotes))
		}
		for _, q := range got.Quotes {
			in := text
			if q.DocumentID == "b" {
				in = message
			}
			if runes := []rune(in); q.Start < 0 || q.End > len(runes) || string(runes[q.Start:q.End]) != q.Text {
				t.Errorf("%q is not at %d to %d", q.Text, q.Start, q.End)
			}
		}
	})
}
