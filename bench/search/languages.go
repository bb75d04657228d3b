package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
)

// runLanguages measures how well passages are found by questions in each language.
func runLanguages(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("languages", flag.ContinueOnError)
	f.SetOutput(stderr)
	data := f.String("data", "", "`folder` of files in the format of SQuAD, such as xquad.el.json")
	if err := parseFlags(f, args); err != nil {
		return err
	}
	if err := checkData(*data, "-data folder"); err != nil {
		return err
	}
	files, err := passageFiles(*data)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return missingDataError{"no file such as xquad.el.json in " + *data}
	}
	t := table{title: "Passages by language", head: []string{"language", "passages", "questions", "nDCG@10", "first"}}
	err = inFolder("", func(dir string) error {
		for _, code := range slices.Sorted(maps.Keys(files)) {
			row, err := judgeLanguage(ctx, files[code], code, dir, stderr)
			if err != nil {
				return fmt.Errorf("%s: %w", code, err)
			}
			t.rows = append(t.rows, row)
		}
		return nil
	})
	return errors.Join(err, page{tables: []table{t}}.writeText(stdout))
}

// judgeLanguage returns the row of one language.
func judgeLanguage(ctx context.Context, file, code, dir string, stderr io.Writer) ([]string, error) {
	c, err := readPassages(file, code)
	if err != nil {
		return nil, err
	}
	documents, answers, err := answer(ctx, kinds[0], c, dir, 10, &progress{w: stderr})
	if err != nil {
		return nil, err
	}
	var all, first []float64
	for _, a := range answers {
		all = append(all, a.ndcg)
		hit := 0.0
		if a.ndcg == 1 { // one document is relevant
			hit = 1
		}
		first = append(first, hit)
	}
	return []string{
		code, count(documents), count(len(answers)), fmt.Sprintf("%.4f", mean(all)), fmt.Sprintf("%.4f", mean(first)),
	}, nil
}
