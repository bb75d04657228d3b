package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// titleQuestions is how many titles are searched for.
	titleQuestions = 500
	// titleText is the shortest abstract in bytes that is searched, and titleWords the shortest title in words that is
	// searched for.
	titleText, titleWords = 200, 4
)

// titleCollection makes a collection from the documents of a file: their titles are the queries, and each should find
// the text that it was removed from. Titles are drawn evenly from the file. Ok is false if too few documents have a
// title and a text.
func titleCollection(name, file string) (c collection, ok bool, err error) {
	c = collection{name: name}
	var documents []paper
	var titles []string
	for p, err := range papers(file) {
		if err != nil {
			return c, false, err
		}
		if len(p.Text) < titleText || len(strings.Fields(p.Title)) < titleWords {
			continue
		}
		titles = append(titles, p.Title)
		documents = append(documents, paper{ID: p.ID, Text: withoutTitle(p), Year: p.Year})
	}
	if len(documents) == 0 {
		return c, false, nil
	}
	step := max(1, len(documents)/titleQuestions)
	for i := 0; i < len(documents) && len(c.questions) < titleQuestions; i += step {
		c.questions = append(c.questions, question{documents[i].ID, titles[i], map[string]int{documents[i].ID: 1}})
	}
	c.documents = inMemory(documents)
	return c, true, nil
}

// withoutTitle returns the text of a document without its title, which some abstracts repeat.
func withoutTitle(p paper) string {
	if at := strings.Index(strings.ToLower(p.Text), strings.ToLower(p.Title)); at >= 0 && at+len(p.Title) <= len(p.Text) {
		return p.Text[:at] + p.Text[at+len(p.Title):]
	}
	return p.Text
}

// madeCollections returns the collections that are made from the data: titles of papers, and questions about passages
// of an encyclopedia. The names of their folders are removed from passedOver.
func madeCollections(data string, passedOver []string) (made []collection, left []string, err error) {
	left = passedOver
	use := func(folder string, c collection) {
		made = append(made, c)
		left = slices.DeleteFunc(slices.Clone(left), func(name string) bool { return name == folder })
	}
	if file, ok := documentsFile(filepath.Join(data, "acl")); ok && slices.Contains(passedOver, "acl") {
		c, ok, err := titleCollection("acl titles", file)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			use("acl", c)
		}
	}
	for _, name := range []string{"xquad.en.json", "dev.json"} {
		file := filepath.Join(data, "xquad", name)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		c, err := readPassages(file, carrelLanguage)
		if err != nil {
			return nil, nil, err
		}
		c.name = "xquad"
		use("xquad", c)
		break
	}
	return made, left, nil
}
