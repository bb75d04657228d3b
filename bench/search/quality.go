package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// recallDepth is the number of results for recall.
const recallDepth = 100

// qualityTargets are the targets for nDCG@10 by collection.
var qualityTargets = map[string]float64{"cacm": 0.53, "cranfield": 0.40, "cisi": 0.41}

// judgment is the quality of the results of one query.
type judgment struct{ ndcg, recall float64 }

// quality has the judgments of all engines.
type quality struct {
	depth       int // depth of nDCG
	engines     []kind
	collections []collection
	documents   []int          // by collection
	answers     [][][]judgment // by collection, engine and question
	passedOver  []string
}

// collectionsOf returns the collections below a folder and the names of folders without any.
type collectionsOf func(data string) (all []collection, passedOver []string, err error)

// judge runs the queries of all collections below a folder on every engine, each in a fresh index below dir.
func judge(
	ctx context.Context, data, dir string, read collectionsOf, engines []kind, depth int, p *progress,
) (quality, error) {
	q := quality{depth: depth, engines: engines}
	var err error
	if q.collections, q.passedOver, err = read(data); err != nil {
		return q, err
	}
	if len(q.collections) == 0 {
		return q, missingDataError{fmt.Sprintf(
			"no judged collection in %s: none of its folders holds docs.jsonl (or docs.jsonl.gz), queries.jsonl and qrels.tsv",
			data)}
	}
	for _, c := range q.collections {
		p.say("judging answers: %s…", c.name)
		documents, answers := 0, make([][]judgment, len(engines))
		for i, k := range engines {
			if documents, answers[i], err = answer(ctx, k, c, dir, depth, p); err != nil {
				return q, fmt.Errorf("%s, %s: %w", c.name, k.title, err)
			}
		}
		q.documents = append(q.documents, documents)
		q.answers = append(q.answers, answers)
	}
	return q, nil
}

// answer runs the queries of a collection on one engine.
func answer(
	ctx context.Context, k kind, c collection, parent string, depth int, p *progress,
) (documents int, out []judgment, err error) {
	dir, err := os.MkdirTemp(parent, k.key+"-")
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e, err := k.make(dir)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()

	if documents, _, err = index(ctx, e, c.documents, p); err != nil {
		return 0, nil, err
	}
	for _, q := range c.questions {
		results, err := e.search(ctx, request{text: q.text, language: c.language, limit: max(depth, recallDepth)})
		if err != nil {
			return 0, nil, fmt.Errorf("question %s: %w", q.id, err)
		}
		out = append(out, judgment{ndcg(results, q.grades, depth), recall(results, q.grades, recallDepth)})
		p.tick("%s: %d of %d questions", k.title, len(out), len(c.questions))
	}
	return documents, out, nil
}

// means returns the mean judgments of an engine by collection.
func (q quality) means(engine int, of func(judgment) float64) []float64 {
	var out []float64
	for _, answers := range q.answers {
		out = append(out, mean(values(answers[engine], of)))
	}
	return out
}

func byNDCG(j judgment) float64   { return j.ndcg }
func byRecall(j judgment) float64 { return j.recall }

// tables compares the engines.
func (q quality) tables() []table {
	tables := []table{
		q.withTargets(q.table(fmt.Sprintf("nDCG@%d", q.depth), byNDCG)),
		q.table(fmt.Sprintf("recall@%d", recallDepth), byRecall),
	}
	if len(q.engines) > 1 {
		tables = append(tables, q.significanceTable())
	}
	return tables
}

// table has a row per collection and their mean; all collections have the same weight.
func (q quality) table(title string, of func(judgment) float64) table {
	t := table{title: title, head: []string{"collection", "documents", "questions"}}
	for _, c := range append(q.collections, collection{name: "mean"}) {
		t.rows = append(t.rows, []string{c.name, "", ""})
	}
	for i, c := range q.collections {
		t.rows[i][1], t.rows[i][2] = count(q.documents[i]), count(len(c.questions))
	}
	for engine, k := range q.engines {
		t.head = append(t.head, k.title)
		means := q.means(engine, of)
		for i, value := range append(means, mean(means)) {
			t.rows[i] = append(t.rows[i], fmt.Sprintf("%.4f", value))
		}
	}
	return t
}

// withTargets adds the targets, which apply to nDCG@10.
func (q quality) withTargets(t table) table {
	own := slices.IndexFunc(q.engines, func(k kind) bool { return k.key == ours })
	if q.depth != 10 || own < 0 {
		return t
	}
	t.head = append(t.head, "target", "")
	reached := q.means(own, byNDCG)
	for i := range t.rows {
		target, met := "", ""
		if i < len(q.collections) && qualityTargets[q.collections[i].name] > 0 {
			goal := qualityTargets[q.collections[i].name]
			target, met = fmt.Sprintf("≥ %.2f", goal), verdict(reached[i] >= goal)
		}
		t.rows[i] = append(t.rows[i], target, met)
	}
	return t
}

// questionTables has a row per query, to find weaknesses of an engine.
func (q quality) questionTables() []table {
	var out []table
	for at, c := range q.collections {
		t := table{title: c.name + ", by question", head: []string{"question"}}
		for _, k := range q.engines {
			t.head = append(t.head, k.title+" nDCG@"+strconv.Itoa(q.depth), "recall@"+strconv.Itoa(recallDepth))
		}
		t.head = append(t.head, "relevant", "text")
		for i, asked := range c.questions {
			row := []string{asked.id}
			for engine := range q.engines {
				j := q.answers[at][engine][i]
				row = append(row, fmt.Sprintf("%.4f", j.ndcg), fmt.Sprintf("%.4f", j.recall))
			}
			t.rows = append(t.rows, append(row, count(len(asked.grades)), shortened(asked.text, 80)))
		}
		out = append(out, t)
	}
	return out
}

// shortened returns the beginning of a text on one line.
func shortened(text string, limit int) string {
	runes := []rune(text)
	for i, r := range runes {
		if r == '\n' || r == '\t' || r == '|' {
			runes[i] = ' '
		}
	}
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit-1]) + "…"
}

// notes explains the numbers.
func (q quality) notes() []string {
	notes := []string{
		fmt.Sprintf("nDCG@%d with gain 2^grade−1, of the questions that have a relevant document; the mean counts every "+
			"collection the same.", q.depth),
	}
	for _, c := range q.collections {
		if c.skipped > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d questions without a relevant document are left out.", c.name, c.skipped))
		}
	}
	if len(q.engines) > 1 {
		notes = append(notes, fmt.Sprintf("p: paired randomization test, interval: paired bootstrap, %s samples each.",
			count(resamples)))
	}
	for _, name := range q.passedOver {
		notes = append(notes, fmt.Sprintf(
			"Passed over: %s, which is no judged collection (docs.jsonl or docs.jsonl.gz, queries.jsonl, qrels.tsv).", name))
	}
	return notes
}
