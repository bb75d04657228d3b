package quote

import (
	"slices"
	"strings"
	"testing"
)

// preferring is a ranker that gives a high logit to candidates with a phrase. It knows similar texts by a word.
type preferring struct {
	phrase, similar string
	most            int
	wrong           bool // returns too few logits
	seen            []Candidate
}

func (r *preferring) Most() int { return r.most }

func (r *preferring) Similarities(_ string, texts []string) []float64 {
	out := make([]float64, len(texts))
	for i, text := range texts {
		if r.similar != "" && strings.Contains(text, r.similar) {
			out[i] = 0.9
		}
	}
	return out
}

func (r *preferring) Rank(_ string, candidates []Candidate) []float64 {
	r.seen = candidates
	if r.wrong {
		return make([]float64, len(candidates)-1)
	}
	out := make([]float64, len(candidates))
	for i, c := range candidates {
		out[i] = -8
		if strings.Contains(c.Text, r.phrase) {
			out[i] = 8
		}
	}
	return out
}

var canal = []Passage{
	{DocumentID: "canal", Title: "The canal", Text: "The canal was planned by engineers of the canal company. " +
		"Workers dug for eleven years. Its locks were opened to ships in 1914."},
	{DocumentID: "harbour", Title: "The harbour", Text: "The harbour was opened in 1901. Ships wait there."},
}

const aboutCanal = "When was the canal opened?"

func rankedAnswer(question string, before Talk, r Ranker) Answer {
	e := New("en").Ranked(r)
	return e.Answer(e.Ask(question, before, nil), canal, nil)
}

func TestARankerChoosesTheFirstQuote(t *testing.T) {
	t.Parallel()
	r := &preferring{phrase: "locks", most: 10}
	got := rankedAnswer(aboutCanal, Talk{}, r)
	if len(got.Quotes) == 0 || !strings.Contains(got.Quotes[0].Text, "1914") {
		t.Fatalf("the first quote is not the preferred sentence: %+v", got.Quotes)
	}
	if got.Outcome != Answered || got.Confidence < 8 {
		t.Errorf("outcome %d with confidence %v", got.Outcome, got.Confidence)
	}
	third := slices.IndexFunc(r.seen, func(c Candidate) bool { return strings.HasPrefix(c.Text, "Its locks") })
	if third < 0 || r.seen[third].Title != "The canal" || r.seen[third].Before != "Workers dug for eleven years." {
		t.Errorf("the ranker reads %+v", r.seen)
	}
}

func TestARankerThatDoubtsTheAnswerKeepsItFromBeingCalledOne(t *testing.T) {
	t.Parallel()
	if got := rankedAnswer(aboutCanal, Talk{}, nil); got.Outcome != Answered || got.Confidence != got.Coverage {
		t.Fatalf("by words the outcome is %d with confidence %v", got.Outcome, got.Confidence)
	}
	if got := rankedAnswer(aboutCanal, Talk{}, &preferring{phrase: "no such", most: 10}); got.Outcome == Answered {
		t.Errorf("a doubted sentence with confidence %v is called an answer", got.Confidence)
	}
}

func TestASentenceWithoutWordsOfTheQuestionCanBeRanked(t *testing.T) {
	t.Parallel()
	r := &preferring{phrase: "eleven", similar: "eleven", most: 2}
	got := rankedAnswer("Which period of construction did the canal take?", Talk{}, r)
	if len(got.Quotes) == 0 || !slices.ContainsFunc(r.seen, func(c Candidate) bool {
		return strings.Contains(c.Text, "eleven")
	}) {
		t.Errorf("of %+v the ranker sees %+v", got.Quotes, r.seen)
	}
}

func TestARankerIsGivenAtMostItsNumberOfCandidates(t *testing.T) {
	t.Parallel()
	r := &preferring{phrase: "opened", most: 2}
	rankedAnswer(aboutCanal, Talk{}, r)
	if len(r.seen) != 2 {
		t.Errorf("the ranker is given %d candidates", len(r.seen))
	}
}

func TestTheOrderByWordsIsKept(t *testing.T) {
	t.Parallel()
	before := Talk{
		Question: "When was the canal planned?", Titles: []string{"The canal"}, Documents: []string{"canal"},
		Quoted: []Quote{{DocumentID: "canal", Start: 0, End: 56}},
	}
	for name, test := range map[string]struct {
		question string
		before   Talk
		ranker   *preferring
	}{
		"too few logits":         {aboutCanal, Talk{}, &preferring{most: 10, wrong: true}},
		"no candidates":          {aboutCanal, Talk{}, &preferring{most: 0}},
		"completed question":     {"And who dug it?", before, &preferring{phrase: "harbour", most: 10}},
		"a list of documents":    {"Which papers are about the canal?", Talk{}, &preferring{phrase: "harbour", most: 10}},
		"a comparison":           {"Compare the canal and the harbour", Talk{}, &preferring{phrase: "wait", most: 10}},
		"no words, no passages":  {"", Talk{}, &preferring{phrase: "wait", most: 10}},
		"a question for further": {"What else was opened?", before, &preferring{phrase: "wait", most: 10}},
	} {
		words, ranked := rankedAnswer(test.question, test.before, nil), rankedAnswer(test.question, test.before, test.ranker)
		if !slices.Equal(words.Quotes, ranked.Quotes) || words.Outcome != ranked.Outcome {
			t.Errorf("%s: %+v by words, %+v ranked", name, words.Quotes, ranked.Quotes)
		}
	}
}
