package main

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// passageFiles returns the files with questions about passages in a folder, by language: xquad.el.json is Greek.
func passageFiles(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.??.json"))
	if err != nil {
		return nil, err
	}
	byLanguage := make(map[string]string)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		byLanguage[name[len(name)-2:]] = file
	}
	return byLanguage, nil
}

// readPassages reads a file in the format of SQuAD as a collection: every passage is a document, and it is the only
// relevant one for its questions. Titles are left out, because XQuAD has them in English only.
func readPassages(file, language string) (collection, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return collection{}, err
	}
	var set struct {
		Data []struct {
			Title      string
			Paragraphs []struct {
				Context string
				Qas     []struct{ ID, Question string }
			}
		}
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return collection{}, fmt.Errorf("%s: %w", file, err)
	}
	c := collection{language: language}
	var documents []paper
	for _, article := range set.Data {
		for _, paragraph := range article.Paragraphs {
			id := strconv.Itoa(len(documents))
			documents = append(documents, paper{ID: id, Text: paragraph.Context, Language: language})
			for _, qa := range paragraph.Qas {
				c.questions = append(c.questions, question{qa.ID, qa.Question, map[string]int{id: 1}})
			}
		}
	}
	if len(c.questions) == 0 {
		return c, fmt.Errorf("%s: no questions in the format of SQuAD", file)
	}
	c.documents = inMemory(documents)
	return c, nil
}

func inMemory(documents []paper) iter.Seq2[paper, error] {
	return func(yield func(paper, error) bool) {
		slices.Values(documents)(func(p paper) bool { return yield(p, nil) })
	}
}
