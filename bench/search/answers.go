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

// answersFile is where a folder of data has questions with the places of their answers (the form of SQuAD).
const answersFile = "xquad/dev.json"

// printAnswers measures the answers that Carrel gives without a model, where the data has questions for that.
func printAnswers(data string, stdout, stderr io.Writer) error {
	f, err := os.Open(filepath.Join(data, filepath.FromSlash(answersFile)))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintf(stderr, "no %s in the data: answers without a model are not measured\n", answersFile)
		return err
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	report, err := xquad.Evaluate(f)
	if err != nil {
		return fmt.Errorf("measure answers: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "\nAnswers without a model (%s)\n%s", answersFile, report)
	return err
}
