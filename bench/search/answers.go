package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"carrel/internal/research/quote/xquad"
)

// answersFile is the file with questions and the positions of their answers, in SQuAD format.
const answersFile = "xquad/dev.json"

// printAnswers measures the quotes that Carrel selects without a model, if the data has such questions.
func printAnswers(data string, stdout, stderr io.Writer) error {
	f, err := os.Open(filepath.Join(data, filepath.FromSlash(answersFile)))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintf(stderr, "no %s in the data: answers without a model are not measured\n", answersFile)
		return err
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read-only
	report, err := xquad.Evaluate(f)
	if err != nil {
		return fmt.Errorf("measure answers: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "\nAnswers without a model (%s)\n%s", answersFile, report)
	return err
}
