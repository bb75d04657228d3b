package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
)

// collection has documents, queries and relevance judgments.
type collection struct {
	name      string
	language  string // of documents and queries; English if empty
	documents iter.Seq2[paper, error]
	questions []question
	skipped   int // queries without a relevant document
}

// question is a query with the grades of its relevant documents.
type question struct {
	id, text string
	grades   map[string]int
}

// missingDataError explains why there is no data to measure with.
type missingDataError struct{ reason string }

func (e missingDataError) Error() string { return e.reason }

// checkData returns an error if no folder was given or it does not exist.
func checkData(data, howToName string) error {
	if data == "" {
		return missingDataError{"no data to measure with: name a folder of collections with " + howToName}
	}
	if info, err := os.Stat(data); err != nil || !info.IsDir() {
		return missingDataError{fmt.Sprintf("no data to measure with: %s is not a folder", data)}
	}
	return nil
}

// allCollections returns the judged collections below a folder and those that are made from other data there.
func allCollections(data string) (all []collection, passedOver []string, err error) {
	if all, passedOver, err = collections(data); err != nil {
		return nil, nil, err
	}
	made, passedOver, err := madeCollections(data, passedOver)
	return append(all, made...), passedOver, err
}

// collections reads the judged collections below a folder, sorted by name, and returns the names of folders without
// judgments.
func collections(data string) (judged []collection, passedOver []string, err error) {
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		dir := filepath.Join(data, e.Name())
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		c, ok, err := readCollection(dir)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			judged = append(judged, c)
		} else {
			passedOver = append(passedOver, e.Name())
		}
	}
	return judged, passedOver, nil
}

// readCollection reads queries and judgments; ok is false if one of the three files is missing.
func readCollection(dir string) (c collection, ok bool, err error) {
	c.name = filepath.Base(dir)
	file, ok := documentsFile(dir)
	if !ok {
		return c, false, nil
	}
	c.documents = papers(file)
	grades, err := readGrades(filepath.Join(dir, "qrels.tsv"))
	if errors.Is(err, os.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	err = eachLine(filepath.Join(dir, "queries.jsonl"), func(line []byte) error {
		var q struct{ ID, Text string }
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		if len(grades[q.ID]) == 0 {
			c.skipped++
			return nil
		}
		c.questions = append(c.questions, question{q.ID, q.Text, grades[q.ID]})
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		return c, false, nil
	}
	if err == nil && len(c.questions) == 0 {
		err = fmt.Errorf("%s: none of the questions has a relevant document", dir)
	}
	return c, true, err
}

// readGrades reads lines of query, document and grade, separated by tabs. A grade of 0 or below is irrelevant, like
// an unjudged document.
func readGrades(path string) (map[string]map[string]int, error) {
	grades := map[string]map[string]int{}
	err := eachLine(path, func(line []byte) error {
		fields := bytes.Split(bytes.TrimRight(line, "\r"), []byte("\t"))
		if len(fields) != 3 {
			return fmt.Errorf("%d fields instead of question, document and grade", len(fields))
		}
		question, document := string(fields[0]), string(fields[1])
		grade, err := strconv.Atoi(string(fields[2]))
		if err != nil {
			return err
		}
		if grade <= 0 {
			return nil
		}
		if grades[question] == nil {
			grades[question] = map[string]int{}
		}
		grades[question][document] = grade
		return nil
	})
	return grades, err
}
