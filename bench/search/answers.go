package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/language"
	"carrel/internal/research/quote"
	"carrel/internal/research/quote/xquad"
	"carrel/internal/search"
	"carrel/internal/search/local"
)

// answerFiles are the files with questions and their answers, in SQuAD format. The part of a name between the first and
// the last dot is the language: xquad.de.json.
const answerFiles = "xquad/*.json"

// printAnswers measures the quotes that Carrel selects without a language model, by words and with the built-in models.
// It measures each nth question.
func printAnswers(ctx context.Context, data string, every int, stdout io.Writer, progress *progress) error {
	files, err := filepath.Glob(filepath.Join(data, filepath.FromSlash(answerFiles)))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		progress.say("no %s in the data: answers without a model are not measured", answerFiles)
		return nil
	}
	t := table{title: "Answers without a language model", head: []string{
		"set", "questions", "ranked by", "first", "in three", "in ten", "passage", "first quote", "AUC", "answered", "falsely",
		"mean time",
	}}
	for _, file := range files {
		for _, ranker := range []struct {
			name string
			quote.Ranker
		}{{"words", nil}, {"built-in models", quote.Builtin(ctx)}} {
			progress.say("answers of %s by %s", filepath.Base(file), ranker.name)
			report, err := measureAnswers(ctx, file, every, ranker.Ranker)
			if err != nil {
				return fmt.Errorf("measure the answers of %s: %w", filepath.Base(file), err)
			}
			t.rows = append(t.rows, answerRow(filepath.Base(file), ranker.name, report))
		}
	}
	return page{tables: []table{t}}.writeText(stdout)
}

func answerRow(set, ranker string, r xquad.Report) []string {
	row := []string{set, strconv.Itoa(r.Questions), ranker}
	for _, share := range []float64{
		r.Sentence1, r.Sentence3, r.Sentence10, r.Passage1, r.Quote1, r.AUC, r.Answered, r.FalselyAnswered,
	} {
		row = append(row, fmt.Sprintf("%.3f", share))
	}
	return append(row, r.Mean.Round(100*time.Microsecond).String())
}

func measureAnswers(ctx context.Context, file string, every int, ranker quote.Ranker) (xquad.Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return xquad.Report{}, err
	}
	defer func() { _ = f.Close() }() // read-only
	code := language.Default
	if parts := strings.Split(filepath.Base(file), "."); len(parts) > 2 {
		code = parts[1]
	}
	var report xquad.Report
	err = inFolder("", func(dir string) (err error) {
		found := &passageSearch{ctx: ctx, language: code}
		if ranker != nil {
			found.encoder = search.BuiltInEncoder
		}
		defer func() { err = errors.Join(err, found.close()) }()
		report, err = xquad.Evaluate(f, xquad.Options{
			Language: code, Ranker: ranker, Every: every,
			Build: func(passages []quote.Passage) (xquad.Retriever, error) { return found, found.open(dir, passages) },
		})
		return err
	})
	return report, err
}

// passageSearch finds passages with Carrel's index.
type passageSearch struct {
	ctx      context.Context // of the one measurement
	language string
	encoder  *search.Encoder // nil searches by words alone
	index    *local.Index
	passages map[string]quote.Passage
	sources  []string
	holders  map[string]int
}

func (s *passageSearch) open(dir string, passages []quote.Passage) (err error) {
	if s.index, err = local.Open(dir, local.Options{Encoder: s.encoder}); err != nil {
		return err
	}
	s.passages, s.sources, s.holders = make(map[string]quote.Passage), []string{carrelSource}, make(map[string]int)
	changes := make([]search.Change, len(passages))
	for i, p := range passages {
		s.passages[p.DocumentID] = p
		changes[i] = search.Change{
			Seq: uint64(i) + 1, Op: search.Put, ID: p.DocumentID,
			Document: search.Document{
				ID: p.DocumentID, SourceID: carrelSource, Title: p.Title, Text: p.Text, Language: s.language,
			},
		}
	}
	return s.index.Apply(s.ctx, search.Span{Through: uint64(len(changes))}, changes)
}

func (s *passageSearch) close() error {
	if s.index == nil {
		return nil
	}
	return s.index.Close()
}

// Retrieve implements xquad.Retriever.
func (s *passageSearch) Retrieve(text string, n int) ([]quote.Passage, error) {
	q := search.Query{Text: text, Language: s.language, Sources: s.sources, Limit: n}
	if s.encoder != nil {
		q.VectorWeight = builtInWeight
	}
	result, err := s.index.Search(s.ctx, q)
	if err != nil {
		return nil, err
	}
	out := make([]quote.Passage, len(result.Hits))
	for i, hit := range result.Hits {
		out[i] = s.passages[hit.ID]
		out[i].Score = hit.Score
	}
	return out, nil
}

// Units implements quote.Statistics.
func (s *passageSearch) Units() int { return len(s.passages) }

// Holders implements quote.Statistics.
func (s *passageSearch) Holders(term string) int {
	n, known := s.holders[term]
	if !known {
		counted, err := s.index.Statistics(s.ctx, slices.Clone(s.sources), []string{term})
		if err != nil {
			return 0
		}
		n = counted.Holders[term]
		s.holders[term] = n
	}
	return n
}
