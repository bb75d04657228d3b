package quote

import (
	"slices"
	"testing"
)

func TestATitleIsEvidence(t *testing.T) {
	t.Parallel()
	passages := []Passage{
		{
			DocumentID: "heads", Title: "Attention",
			Text: "Several attention heads work side by side in each layer, eight in the base model, and can follow " +
				"different relations; positions are encoded by sine and cosine waves added to the input.",
		},
		{
			DocumentID: "codd", Title: "A Relational Model of Data",
			Text: "With relations, data are named by their content. Storage is left to the system.",
		},
		{DocumentID: "word", Title: "Words", Text: "A model of words is trained on news."},
		{DocumentID: "brain", Title: "Brains", Text: "It is no model of brains."},
		{
			DocumentID: "aries", Title: "Recovery Using Write-Ahead Logging",
			Text: "Mohan describes how a database survives a crash. Locks are fine.",
		},
	}
	for question, want := range map[string]string{"relational model": "codd", "What is write-ahead logging?": "aries"} {
		e := New("en")
		got := e.Answer(e.Ask(question, Talk{}, nil), passages, nil)
		if got.Outcome == Nothing || got.Quotes[0].DocumentID != want {
			t.Errorf("%q is answered %d with %+v", question, got.Outcome, got.Quotes)
		}
		for _, quote := range got.Quotes {
			if quote.DocumentID != want {
				t.Errorf("%q is also answered with %q", question, quote.Text)
			}
		}
	}
}

func TestWeakWordsCountLittle(t *testing.T) {
	t.Parallel()
	passages := []Passage{
		{DocumentID: "bush", Text: "The memex is an imagined desk that holds all books of a person."},
		{DocumentID: "other", Text: "Important work was done by important people who invented and wrote."},
		{DocumentID: "third", Text: "Nothing else stands here."},
	}
	for _, question := range []string{"Why is the memex important?", "Who invented the memex?", "How does the memex " +
		"work?", "memex"} {
		e := New("en")
		got := e.Answer(e.Ask(question, Talk{}, nil), passages, nil)
		if len(got.Quotes) != 1 || got.Quotes[0].DocumentID != "bush" || len(got.Missing)+len(got.Unmatched) > 0 {
			t.Errorf("%q is answered with %+v, lacking %q and %q", question, got.Quotes, got.Missing, got.Unmatched)
		}
	}
	// Without other words, such a word decides.
	e := New("en")
	if got := e.Answer(e.Ask("important work", Talk{}, nil), passages, nil); len(got.Quotes) == 0 ||
		got.Quotes[0].DocumentID != "other" {
		t.Errorf("answered with %+v", got.Quotes)
	}
}

func TestFurtherQuotesShareTheSubjectOfTheBest(t *testing.T) {
	t.Parallel()
	passages := []Passage{
		{DocumentID: "sketch", Text: "Ivan Sutherland wrote Sketchpad at Lincoln Laboratory, a drawing program."},
		{DocumentID: "fortran", Text: "Programs were written at a laboratory by hand, and a program was slow."},
		{DocumentID: "fourier", Text: "The fast transform made signals cheap."},
		{DocumentID: "vaswani", Text: "A transformer reads all words at once."},
	}
	for question, want := range map[string]string{
		"Who wrote the Sketchpad program?": "sketch", "What is a transformer?": "vaswani",
	} {
		e := New("en")
		got := e.Answer(e.Ask(question, Talk{}, nil), passages, nil)
		if len(got.Quotes) != 1 || got.Quotes[0].DocumentID != want {
			t.Errorf("%q is answered with %+v", question, got.Quotes)
		}
	}
}

func TestAFollowUpIsAboutTheDocumentsThatAnswered(t *testing.T) {
	t.Parallel()
	passages := []Passage{
		{
			DocumentID: "think", Title: "As We May Think",
			Text: "His remedy is the memex, a desk with a library in it. The essay appeared in July 1945 in a magazine.",
		},
		{
			DocumentID: "other", Title: "Symbiosis",
			Text: "Licklider timed his thinking. He published it in March 1960, when he thought of machines.",
		},
	}
	e := New("en")
	before := Talk{Question: "What is the memex?", Titles: []string{"As We May Think"}, Documents: []string{"think"}}
	for _, question := range []string{"When?", "When was it published?"} {
		got := e.Answer(e.Ask(question, before, nil), passages, nil)
		if got.Outcome == Nothing || !slices.ContainsFunc(got.Quotes[:1], func(q Quote) bool {
			return q.DocumentID == "think"
		}) {
			t.Errorf("%q is answered %d with %+v", question, got.Outcome, got.Quotes)
		}
	}
	if q := e.Ask("How were machines timed by Licklider in his day?", before, nil); q.PointsBack() {
		t.Errorf("%q points back, with %q", q.Question, q.Added)
	}
}

func TestFormsOfAWordAreTheSameButForALastLetter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"Machines", "machine", true},
		{"machine", "machine", true},
		{"transform", "transformer", false},
		{"relations", "relational", false},
		{"é", "e", false},
	} {
		if got := sameForm(test.a, test.b); got != test.want {
			t.Errorf("sameForm(%q, %q) is %v", test.a, test.b, got)
		}
	}
}

func TestOneOfTwoWordsIsNoAnswer(t *testing.T) {
	t.Parallel()
	passages := []Passage{
		{
			DocumentID: "edvac",
			Text:       "The report came out of discussions at the Moore School, but bore only von Neumann's name.",
		},
		{DocumentID: "brooks", Text: "Brooks's law states that adding people to a late project makes it later."},
	}
	e := New("en")
	if got := e.Answer(e.Ask("What is Moore's law?", Talk{}, nil), passages, nil); got.Outcome == Answered {
		t.Errorf("answered with %+v", got.Quotes)
	}
	if got := e.Answer(e.Ask("What is Brooks's law?", Talk{}, nil), passages, nil); got.Outcome != Answered ||
		got.Quotes[0].DocumentID != "brooks" {
		t.Errorf("outcome %d with %+v", got.Outcome, got.Quotes)
	}
}
