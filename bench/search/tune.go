package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"carrel/internal/search"
)

// folds is the number of parts of each collection's queries in the cross-validation.
const folds = 5

// tuning holds the nDCG@10 of every weight of the built-in vectors.
type tuning struct {
	weights     []float64 // 0 first
	collections []string
	values      [][][]float64 // by collection, weight and query
}

// runTune measures the weight of the built-in vectors by cross-validation.
func runTune(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("tune", flag.ContinueOnError)
	f.SetOutput(stderr)
	data := f.String("data", "", "`folder` of collections, as for eval")
	if err := parseFlags(f, args); err != nil {
		return err
	}
	if err := checkData(*data, "-data folder"); err != nil {
		return err
	}
	all, _, err := allCollections(*data)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return missingDataError{"no judged collection in " + *data}
	}
	t := tuning{weights: []float64{0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6}}
	err = inFolder("", func(dir string) error {
		for _, c := range all {
			if err := t.measure(ctx, c, dir, &progress{w: stderr}); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return page{tables: []table{t.byWeight(), t.byFold(), t.byCollection()}, notes: []string{
		"nDCG@10; the mean counts every collection the same.",
		fmt.Sprintf("By fold: each collection's questions are dealt into %d folds; the weight is chosen on the others.",
			folds),
		"By collection: the weight is chosen on all other collections.",
	}}.writeText(stdout)
}

// measure runs the queries of a collection with every weight.
func (t *tuning) measure(ctx context.Context, c collection, parent string, p *progress) (err error) {
	p.say("%s…", c.name)
	dir, err := os.MkdirTemp(parent, "tune-")
	if err != nil {
		return err
	}
	opened, err := openCarrel(dir, carrelEngine{}, search.BuiltInEncoder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.close(), os.RemoveAll(dir)) }()
	e, ok := opened.(*carrelEngine)
	if !ok {
		return errors.New("not Carrel's engine")
	}
	if _, _, err := index(ctx, e, c.documents, p); err != nil {
		return err
	}
	values := make([][]float64, len(t.weights))
	for i, weight := range t.weights {
		e.weight = weight
		for _, q := range c.questions {
			found, err := e.search(ctx, request{text: q.text, limit: 10})
			if err != nil {
				return err
			}
			values[i] = append(values[i], ndcg(found, q.grades, 10))
		}
		p.tick("weight %.2f", weight)
	}
	t.collections, t.values = append(t.collections, c.name), append(t.values, values)
	return nil
}

// score returns the mean of the collections' means for a weight, over the queries that use selects.
func (t *tuning) score(weight int, use func(collection, query int) bool) float64 {
	var means []float64
	for c, values := range t.values {
		var used []float64
		for q, value := range values[weight] {
			if use(c, q) {
				used = append(used, value)
			}
		}
		if len(used) > 0 {
			means = append(means, mean(used))
		}
	}
	return mean(means)
}

// best returns the weight with the highest score.
func (t *tuning) best(use func(collection, query int) bool) int {
	best := 0
	for w := range t.weights {
		if t.score(w, use) > t.score(best, use) {
			best = w
		}
	}
	return best
}

// byWeight shows every weight on every collection.
func (t *tuning) byWeight() table {
	out := table{title: "nDCG@10 by weight", head: slices.Concat([]string{"weight"}, t.collections, []string{"mean"})}
	for w, weight := range t.weights {
		row := []string{fmt.Sprintf("%.2f", weight)}
		var means []float64
		for c := range t.collections {
			means = append(means, mean(t.values[c][w]))
			row = append(row, fmt.Sprintf("%.4f", means[c]))
		}
		out.rows = append(out.rows, append(row, fmt.Sprintf("%.4f", mean(means))))
	}
	return out
}

// byFold shows the weight that is chosen without each fold, and what it reaches there.
func (t *tuning) byFold() table {
	out := table{title: "Chosen by fold", head: []string{"fold", "weight", "words", "chosen", "gain"}}
	var chosen, gains []float64
	for fold := range folds {
		own := func(_, query int) bool { return query%folds == fold }
		others := func(_, query int) bool { return query%folds != fold }
		w := t.best(others)
		out.rows = append(out.rows, t.row(fmt.Sprint(fold+1), w, own))
		chosen, gains = append(chosen, t.weights[w]), append(gains, t.score(w, own)-t.score(0, own))
	}
	out.rows = append(out.rows, []string{
		"spread", fmt.Sprintf("%.2f to %.2f", slices.Min(chosen), slices.Max(chosen)), "", "",
		fmt.Sprintf("%+.4f to %+.4f, mean %+.4f", slices.Min(gains), slices.Max(gains), mean(gains)),
	})
	return out
}

// byCollection shows the weight that is chosen without each collection, and what it reaches there.
func (t *tuning) byCollection() table {
	out := table{title: "Chosen without the collection", head: []string{"collection", "weight", "words", "chosen", "gain"}}
	for c, name := range t.collections {
		w := t.best(func(other, _ int) bool { return other != c })
		out.rows = append(out.rows, t.row(name, w, func(other, _ int) bool { return other == c }))
	}
	return out
}

func (t *tuning) row(name string, weight int, use func(collection, query int) bool) []string {
	words, reached := t.score(0, use), t.score(weight, use)
	return []string{
		name, fmt.Sprintf("%.2f", t.weights[weight]), fmt.Sprintf("%.4f", words), fmt.Sprintf("%.4f", reached),
		fmt.Sprintf("%+.4f", reached-words),
	}
}
