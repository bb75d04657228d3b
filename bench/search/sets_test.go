package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const tinyPassages = `{"data": [{"title": "Ada_Lovelace", "paragraphs": [
	{"context": "Ada wrote notes on the engine.", "qas": [{"id": "q1", "question": "Who wrote notes?"}]},
	{"context": "The engine was never built.", "qas": [{"id": "q2", "question": "Was the engine built?"}]}]}]}`

func TestPassagesAreDocumentsAndTheirQuestionsQueries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeText(t, dir, "xquad.el.json", tinyPassages)
	writeText(t, dir, "empty.de.json", `{"data": []}`)
	writeText(t, dir, "README.md", "no questions")
	files, err := passageFiles(dir)
	if err != nil || len(files) != 2 || filepath.Base(files["el"]) != "xquad.el.json" {
		t.Fatalf("%v, %v", files, err)
	}
	c, err := readPassages(files["el"], "el")
	if err != nil || c.language != "el" || len(c.questions) != 2 || c.questions[1].grades["1"] != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	for p, err := range c.documents {
		if err != nil || p.Language != "el" || p.Title != "" {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if _, err := readPassages(files["de"], "de"); err == nil {
		t.Error("a file without questions is accepted")
	}
}

func TestTitlesAreQueriesForTheirTexts(t *testing.T) {
	t.Parallel()
	all := tinyPapers(1200)
	all[0].Text += strings.ToUpper(all[0].Title) // is removed
	all[1].Text = "too short"
	all[2].Title = "Too short"
	c, ok, err := titleCollection("acl titles", writePapers(t, t.TempDir(), "docs.jsonl", all))
	if err != nil || !ok || len(c.questions) != titleQuestions {
		t.Fatalf("%d questions, %v, %v", len(c.questions), ok, err)
	}
	documents := 0
	for p, err := range c.documents {
		if err != nil || p.Title != "" || strings.Contains(strings.ToLower(p.Text), "of the language number") {
			t.Fatalf("%+v, %v", p, err)
		}
		documents++
	}
	if documents != 1198 || c.questions[0].text != all[0].Title || c.questions[0].grades["p000"] != 1 {
		t.Errorf("%d documents, first question %+v", documents, c.questions[0])
	}
}

func TestCollectionsAreMadeFromPapersAndPassages(t *testing.T) {
	t.Parallel()
	data := tinyData(t)
	writeText(t, filepath.Join(data, "xquad"), "dev.json", tinyPassages)
	all, passedOver, err := allCollections(data)
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	if err != nil || !slices.Equal(names, []string{"judged", "acl titles", "xquad"}) ||
		!slices.Equal(passedOver, []string{"notes"}) {
		t.Errorf("collections %q, passed over %q, %v", names, passedOver, err)
	}
}
