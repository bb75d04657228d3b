// Package xquad measures answers without a model on XQuAD, or any set in the format of SQuAD 1.1, where the right
// passage and sentence of every question are known.
package xquad

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/language"
	"carrel/internal/research/quote"
)

// candidates is how many passages the extractor is given.
const candidates = 20

// Retriever finds passages. Its statistics cover all searched passages.
type Retriever interface {
	quote.Statistics
	// Retrieve returns up to n passages for a query, best first.
	Retrieve(query string, n int) ([]quote.Passage, error)
}

// Report holds the measures, as shares of the questions unless noted otherwise.
type Report struct {
	Passages, Sentences, Questions int

	Sentence1  float64 // the right sentence is ranked first
	Sentence3  float64 // … among the first three
	Sentence10 float64 // … among the first ten
	Passage1   float64 // the first sentence is from the right passage
	Quote1     float64 // the first shown quote holds the answer
	Quoted     float64 // any shown quote holds the answer

	// AUC is how often a question with its passage has a higher confidence than one without its passage; ties count half.
	AUC float64
	// Of the questions with their passage, and of those whose passage was removed.
	Answered, FalselyAnswered float64 // called answered
	Shown, FalselyShown       float64 // given any quotes

	Mean time.Duration // for a question: retrieval and extraction
}

// String returns the report as a table.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d questions, %d passages, %d sentences\n", r.Questions, r.Passages, r.Sentences)
	for _, row := range []struct {
		name  string
		value float64
	}{
		{"right sentence first", r.Sentence1},
		{"right sentence in the first three", r.Sentence3},
		{"right sentence in the first ten", r.Sentence10},
		{"right passage first", r.Passage1},
		{"first quote holds the answer", r.Quote1},
		{"any quote shown holds the answer", r.Quoted},
		{"abstention AUC", r.AUC},
		{"answered, passage there", r.Answered},
		{"answered, passage taken away", r.FalselyAnswered},
		{"quotes shown, passage there", r.Shown},
		{"quotes shown, passage taken away", r.FalselyShown},
	} {
		fmt.Fprintf(&b, "%-36s %.3f\n", row.name, row.value)
	}
	fmt.Fprintf(&b, "%-36s %s\n", "mean time of a question", r.Mean.Round(10*time.Microsecond))
	return b.String()
}

// Options choose what Evaluate measures. The zero value measures English questions by words, with a small in-memory
// search.
type Options struct {
	// Language is the code of the language of the questions; English if it is empty.
	Language string
	// Ranker orders the candidate sentences; nil orders them by words.
	Ranker quote.Ranker
	// Build makes the search from the passages, which are identified by document id; nil stands for the small one.
	Build func([]quote.Passage) (Retriever, error)
	// Every measures only each nth question; 0 measures all.
	Every int
}

// Evaluate reads questions and measures the answers.
func Evaluate(r io.Reader, o Options) (Report, error) {
	code := cmp.Or(o.Language, language.Default)
	build := o.Build
	if build == nil {
		build = func(p []quote.Passage) (Retriever, error) { return NewIndex(p, code), nil }
	}
	passages, questions, err := read(r)
	if err != nil {
		return Report{}, err
	}
	search, err := build(passages)
	if err != nil {
		return Report{}, fmt.Errorf("index the passages: %w", err)
	}
	if o.Ranker != nil {
		o.Ranker = &remembering{Ranker: o.Ranker}
	}
	e := evaluation{extractor: quote.New(code).Ranked(o.Ranker), search: search}
	e.report.Passages = len(passages)
	for _, p := range passages {
		e.report.Sentences += len(quote.Sentences(p.Text, code))
	}
	for i, q := range questions {
		if i%max(1, o.Every) != 0 {
			continue
		}
		e.report.Questions++
		if err := e.measure(q); err != nil {
			return Report{}, fmt.Errorf("question %q: %w", q.text, err)
		}
	}
	return e.sum(), nil
}

// question is a question with its known answer.
type question struct {
	text    string
	passage string // document id of the right passage
	answers []string
}

// evaluation holds the counts so far.
type evaluation struct {
	extractor *quote.Extractor
	search    Retriever
	report    Report
	spent     time.Duration
	there     []float64 // confidences
	away      []float64
}

func (e *evaluation) measure(q question) error {
	began := time.Now()
	asked := e.extractor.Ask(q.text, quote.Talk{}, e.search)
	found, err := e.search.Retrieve(asked.Text, candidates+1)
	if err != nil {
		return err
	}
	passages := found[:min(len(found), candidates)]
	answer := e.extractor.Answer(asked, passages, e.search)
	e.spent += time.Since(began)

	e.there = append(e.there, answer.Confidence)
	e.report.Answered += share(answer.Outcome == quote.Answered)
	e.report.Shown += share(answer.Outcome != quote.Nothing)
	// Quotes are judged regardless of the outcome, which has its own measure.
	e.rank(q, e.extractor.Rank(asked, passages, e.search), passages)
	for i, quote := range answer.Quotes {
		if quote.DocumentID == q.passage && q.holds(quote.Text) {
			e.report.Quoted++
			if i == 0 {
				e.report.Quote1++
			}
			break
		}
	}

	rest := slices.DeleteFunc(slices.Clone(found), func(p quote.Passage) bool { return p.DocumentID == q.passage })
	robbed := e.extractor.Answer(asked, rest[:min(len(rest), candidates)], e.search)
	e.away = append(e.away, robbed.Confidence)
	e.report.FalselyAnswered += share(robbed.Outcome == quote.Answered)
	e.report.FalselyShown += share(robbed.Outcome != quote.Nothing)
	return nil
}

func (e *evaluation) rank(q question, ranked []quote.Ranked, passages []quote.Passage) {
	for i, s := range ranked[:min(10, len(ranked))] {
		p := passages[s.Passage]
		right := p.DocumentID == q.passage
		if i == 0 {
			e.report.Passage1 += share(right)
		}
		if right && q.holds(string([]rune(p.Text)[s.Start:s.End])) {
			e.report.Sentence10++
			e.report.Sentence3 += share(i < 3)
			e.report.Sentence1 += share(i == 0)
			return
		}
	}
}

// holds reports whether a text holds an answer, ignoring case.
func (q question) holds(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(q.answers, func(answer string) bool { return strings.Contains(text, answer) })
}

func (e *evaluation) sum() Report {
	r := e.report
	n := float64(max(1, r.Questions))
	for _, v := range []*float64{
		&r.Sentence1, &r.Sentence3, &r.Sentence10, &r.Passage1, &r.Quote1, &r.Quoted,
		&r.Answered, &r.FalselyAnswered, &r.Shown, &r.FalselyShown,
	} {
		*v /= n
	}
	r.AUC = auc(e.there, e.away)
	r.Mean = e.spent / time.Duration(max(1, r.Questions))
	return r
}

// auc returns the area under the ROC curve: how often a value of high is above one of low, ties counting half.
func auc(high, low []float64) float64 {
	if len(high) == 0 || len(low) == 0 {
		return 0
	}
	low = slices.Clone(low)
	slices.Sort(low)
	wins := 0.0
	for _, v := range high {
		below, _ := slices.BinarySearch(low, v)
		upTo, _ := slices.BinarySearchFunc(low, v, func(x, v float64) int {
			if x <= v {
				return -1
			}
			return cmp.Compare(x, v)
		})
		wins += float64(below) + float64(upTo-below)/2
	}
	return wins / float64(len(high)*len(low))
}

func share(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// errNoQuestions means that the file has another format.
var errNoQuestions = errors.New("no questions in the format of SQuAD")

// read returns the passages and questions of a set.
func read(r io.Reader) ([]quote.Passage, []question, error) {
	var set struct {
		Data []struct {
			Title      string
			Paragraphs []struct {
				Context string
				Qas     []struct {
					Question string
					Answers  []struct{ Text string }
				}
			}
		}
	}
	if err := json.NewDecoder(r).Decode(&set); err != nil {
		return nil, nil, fmt.Errorf("read the questions: %w", err)
	}
	var passages []quote.Passage
	var questions []question
	for _, article := range set.Data {
		for _, paragraph := range article.Paragraphs {
			id := strconv.Itoa(len(passages))
			title := strings.ReplaceAll(article.Title, "_", " ")
			passages = append(passages, quote.Passage{
				DocumentID: id, SourceID: "xquad", Title: title, Text: paragraph.Context,
			})
			for _, qa := range paragraph.Qas {
				q := question{text: qa.Question, passage: id}
				for _, answer := range qa.Answers {
					q.answers = append(q.answers, strings.ToLower(answer.Text))
				}
				questions = append(questions, q)
			}
		}
	}
	if len(questions) == 0 {
		return nil, nil, errNoQuestions
	}
	return passages, questions, nil
}
