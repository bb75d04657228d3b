package xquad

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/language"
	"carrel/internal/research/quote"
)

// set is an artificial set: three questions with a clear passage and sentence, and one without.
const set = `{"data": [
	{"title": "Blue_whale", "paragraphs": [
		{"context": "Blue whales live in all oceans. A grown blue whale eats 4 tons of krill every day.", "qas": [
			{"question": "How much krill does a blue whale eat every day?", 
			"answers": [{"text": "4 Tons", "answer_start": 58}]}]},
		{"context": "The largest whale was caught in 1909 near South Georgia. It was 33 metres long.", "qas": [
			{"question": "When was the largest whale caught?", "answers": [{"text": "1909", "answer_start": 32}]}]}]},
	{"title": "Tower", "paragraphs": [
		{"context": "The tower stands in Paris. It was painted red by Gustave Eiffel.", "qas": [
			{"question": "Who painted the tower red?", "answers": [{"text": "Gustave Eiffel", "answer_start": 49}]}]},
		{"context": "Nothing here is about anything at all.", "qas": [
			{"question": "Which enzymes digest cellulose?", "answers": [{"text": "zymase", "answer_start": 0}]}]}]}
]}`

func TestASetIsMeasured(t *testing.T) {
	t.Parallel()
	r, err := Evaluate(strings.NewReader(set), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Questions != 4 || r.Passages != 4 || r.Sentences != 7 {
		t.Errorf("%d questions, %d passages, %d sentences", r.Questions, r.Passages, r.Sentences)
	}
	for name, values := range map[string][2]float64{
		"Sentence1": {r.Sentence1, 0.75}, "Sentence3": {r.Sentence3, 0.75}, "Passage1": {r.Passage1, 0.75},
		"Quote1": {r.Quote1, 0.75}, "Quoted": {r.Quoted, 0.75}, "Answered": {r.Answered, 0.75}, "Shown": {r.Shown, 0.75},
		"FalselyAnswered": {r.FalselyAnswered, 0}, "FalselyShown": {r.FalselyShown, 0},
	} {
		if values[0] != values[1] {
			t.Errorf("%s is %v, want %v", name, values[0], values[1])
		}
	}
	// The unanswerable question ties with its comparison.
	if r.AUC < 0.8 || r.AUC >= 1 {
		t.Errorf("AUC is %v", r.AUC)
	}
	if r.Mean <= 0 {
		t.Errorf("a question takes %v", r.Mean)
	}
	for _, line := range []string{"4 questions, 4 passages", "right sentence first", "0.750", "abstention AUC"} {
		if !strings.Contains(r.String(), line) {
			t.Errorf("the table lacks %q:\n%s", line, r)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "no JSON", `{"data": []}`, `[]`} {
		if _, err := Evaluate(strings.NewReader(file), Options{}); err == nil {
			t.Errorf("%q is measured", file)
		}
	}
}

// backwards returns passages in reverse order, or fails.
type backwards struct {
	*Index
	err error
}

func (b backwards) Retrieve(string, int) ([]quote.Passage, error) {
	return []quote.Passage{b.passages[3]}, b.err
}

func TestAnotherSearchIsMeasured(t *testing.T) {
	t.Parallel()
	evaluate := func(search backwards, built error) (Report, error) {
		return Evaluate(strings.NewReader(set), Options{Build: func(p []quote.Passage) (Retriever, error) {
			search.Index = NewIndex(p, "en")
			return search, built
		}})
	}
	r, err := evaluate(backwards{}, nil)
	if err != nil || r.Sentence1 != 0 || r.Passage1 != 0 || r.Answered != 0 {
		t.Errorf("a useless search gives %+v, %v", r, err)
	}
	broken := errors.New("broken")
	if _, err := evaluate(backwards{err: broken}, nil); !errors.Is(err, broken) {
		t.Errorf("a search that fails gives %v", err)
	}
	if _, err := evaluate(backwards{}, broken); !errors.Is(err, broken) {
		t.Errorf("a search that cannot be built gives %v", err)
	}
}

func TestTheAreaUnderTheCurveCountsTiesHalf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		high, low []float64
		want      float64
	}{
		{[]float64{2, 3}, []float64{0, 1}, 1},
		{[]float64{0, 1}, []float64{2, 3}, 0},
		{[]float64{1, 1}, []float64{1, 1}, 0.5},
		{[]float64{1, 3}, []float64{2, 1}, 0.625},
		{nil, []float64{1}, 0},
	} {
		if got := auc(test.high, test.low); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("auc(%v, %v) is %v, want %v", test.high, test.low, got, test.want)
		}
	}
}

func TestTheBestPassagesAreFoundFirst(t *testing.T) {
	t.Parallel()
	x := NewIndex([]quote.Passage{
		{DocumentID: "a", Text: "krill krill whales and much more that is said of other things"},
		{DocumentID: "b", Text: "krill whales"},
		{DocumentID: "c", Title: "Krill", Text: "nothing"},
		{DocumentID: "d", Text: "nothing"},
	}, "en")
	found, err := x.Retrieve("krill of whales", 2)
	if err != nil || len(found) != 2 || found[0].DocumentID != "b" || found[1].DocumentID != "a" ||
		found[0].Score <= found[1].Score {
		t.Errorf("found %+v, %v", found, err)
	}
	if found, _ := x.Retrieve("krill", 9); len(found) != 3 {
		t.Errorf("%d passages hold krill", len(found))
	}
	if x.Units() != 4 || x.Holders("krill") != 3 || x.Holders("none") != 0 {
		t.Errorf("%d units, %d holders", x.Units(), x.Holders("krill"))
	}
}

// TestXQuADNumbersHold checks the real set, which is not part of the repository, if XQUAD names its file. The last part
// of the name before .json is the language: xquad.de.json.
func TestXQuADNumbersHold(t *testing.T) {
	paths := os.Getenv("XQUAD")
	if paths == "" {
		t.Skip("XQUAD names no file")
	}
	for path := range strings.SplitSeq(paths, ",") {
		code := language.Default
		if parts := strings.Split(filepath.Base(path), "."); len(parts) > 2 {
			code = parts[1]
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			r, err := Evaluate(file, Options{Language: code})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", r)
			if r.FalselyAnswered > mostFalse {
				t.Errorf("%.3f of the questions without their passage are answered", r.FalselyAnswered)
			}
			if code != language.Default {
				return
			}
			for name, values := range map[string][2]float64{
				"Sentence1": {r.Sentence1, 0.7875}, "Sentence3": {r.Sentence3, 0.92}, "Passage1": {r.Passage1, 0.9475},
				"AUC": {r.AUC, 0.94},
			} {
				if values[0] < values[1] {
					t.Errorf("%s is %.3f, less than %.3f", name, values[0], values[1])
				}
			}
		})
	}
}

// mostFalse is the greatest accepted share of questions that are called answered although their passage was removed.
const mostFalse = 0.06

// BenchmarkQuestion asks one question of ten thousand passages of typical length.
func BenchmarkQuestion(b *testing.B) {
	passages := make([]quote.Passage, 10_000)
	for i := range passages {
		var text strings.Builder
		for s := range 12 {
			fmt.Fprintf(&text, "Whale number %d of group %d was seen by the crew of ship %d near island %d in %d, "+
				"and word%d was written about its long way through the cold sea. ", i, s, i%97, i%331, 1800+i%200, (i*31+s*7)%5000)
		}
		passages[i] = quote.Passage{DocumentID: strconv.Itoa(i), Title: fmt.Sprint("Journal ", i%50), Text: text.String()}
	}
	x := NewIndex(passages, "en")
	e := quote.New("en")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		q := e.Ask(
			fmt.Sprintf("When was the whale near island %d seen by the crew of ship %d?", i%331, i%97), quote.Talk{}, x,
		)
		found, err := x.Retrieve(q.Text, candidates)
		if err != nil {
			b.Fatal(err)
		}
		if e.Answer(q, found, x).Outcome == quote.Nothing {
			b.Fatal("nothing found")
		}
	}
}
