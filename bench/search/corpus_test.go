package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// tinyPapers returns documents that are long enough to draw queries from.
func tinyPapers(n int) []paper {
	subjects := []string{"parsing", "translation", "retrieval", "speech", "dialogue", "summarisation", "morphology"}
	out := make([]paper, n)
	for i := range out {
		subject := subjects[i%len(subjects)]
		out[i] = paper{
			ID:      fmt.Sprintf("p%03d", i),
			Title:   fmt.Sprintf("Statistical %s of the language number %d", subject, i),
			Authors: []string{"Ada Lovelace", "Alan Turing"},
			Text:    strings.Repeat(fmt.Sprintf("We study %s with method m%d and report what it costs. ", subject, i), 7),
			Year:    2010 + i%12,
		}
	}
	return out
}

// writePapers creates the folder of a collection.
func writePapers(t *testing.T, dir, name string, all []paper) string {
	t.Helper()
	var b strings.Builder
	for _, p := range all {
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
		b.WriteString("\n")
	}
	return writeText(t, dir, name, b.String())
}

// writeText creates a file, compressed if its name ends with .gz.
func writeText(t *testing.T, dir, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		var b strings.Builder
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text = b.String()
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func collect(t *testing.T, documents iter.Seq2[paper, error]) []paper {
	t.Helper()
	var out []paper
	for p, err := range documents {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestPapersAreReadPlainAndCompressed(t *testing.T) {
	t.Parallel()
	want := tinyPapers(5)
	for _, name := range []string{"docs.jsonl", "docs.jsonl.gz"} {
		dir := t.TempDir()
		writePapers(t, dir, name, want)
		path, ok := documentsFile(dir)
		if !ok || filepath.Base(path) != name {
			t.Fatalf("found %q", path)
		}
		if got := collect(t, papers(path)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAFaultyLineIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"id\": \"a\"}\n\n{broken\n":        "line 3",
		"{\"id\": \"a\"}\n{\"title\": \"b\"}": "without an id",
	} {
		path := writeText(t, t.TempDir(), "docs.jsonl", text)
		var failure error
		read := 0
		for _, err := range papers(path) {
			if err != nil {
				failure = err
				continue
			}
			read++
		}
		if read != 1 || failure == nil || !strings.Contains(failure.Error(), want) {
			t.Errorf("%d read, then %v; want 1, then %q", read, failure, want)
		}
	}
}

func TestReadingCanStopEarly(t *testing.T) {
	t.Parallel()
	path := writePapers(t, t.TempDir(), "docs.jsonl", tinyPapers(5))
	read := 0
	for _, err := range grown(path, 100) {
		if err != nil {
			t.Fatal(err)
		}
		if read++; read == 7 {
			break
		}
	}
	if read != 7 {
		t.Errorf("%d read", read)
	}
}

func TestGrownStreamsExactlyAsManyAsAskedFor(t *testing.T) {
	t.Parallel()
	originals := tinyPapers(10)
	path := writePapers(t, t.TempDir(), "docs.jsonl", originals)
	for _, size := range []int{1, 7, 10, 11, 35} {
		all := collect(t, grown(path, size))
		if len(all) != size {
			t.Fatalf("%d documents, want %d", len(all), size)
		}
		if n := min(size, 10); !reflect.DeepEqual(all[:n], originals[:n]) {
			t.Errorf("size %d does not begin with the originals", size)
		}
		ids := map[string]bool{}
		for _, p := range all {
			ids[p.ID] = true
		}
		if len(ids) != size {
			t.Errorf("%d ids of %d documents", len(ids), size)
		}
	}
}

func TestGrownRefusesAnEmptyCorpus(t *testing.T) {
	t.Parallel()
	path := writeText(t, t.TempDir(), "docs.jsonl", "\n")
	for _, err := range grown(path, 3) {
		if err == nil || !strings.Contains(err.Error(), "no documents") {
			t.Fatalf("got %v", err)
		}
		return
	}
	t.Fatal("nothing was said")
}

func TestCopiesAreTheSameInEveryRunAndDifferFromEachOther(t *testing.T) {
	t.Parallel()
	path := writePapers(t, t.TempDir(), "docs.jsonl", tinyPapers(20))
	first, again := collect(t, grown(path, 60)), collect(t, grown(path, 60))
	if !reflect.DeepEqual(first, again) {
		t.Fatal("two runs made different copies")
	}
	// Later documents do not change earlier ones.
	if !reflect.DeepEqual(collect(t, grown(path, 45)), first[:45]) {
		t.Error("the size changes the copies")
	}
	same := 0
	for i := range 20 {
		if first[20+i].Text == first[40+i].Text {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d documents have two equal copies", same)
	}
}

func TestACopyLacksWordsAndIsNoYounger(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	text := strings.TrimSpace(strings.Repeat("word ", 10_000))
	kept, years := 0, map[int]bool{}
	for range 20 {
		got := perturbed(paper{ID: "x", Title: "A title", Text: text, Year: 2000}, 3, random)
		if got.ID != "x~3" {
			t.Fatalf("id %q", got.ID)
		}
		kept += len(strings.Fields(got.Text))
		years[got.Year] = true
	}
	if share := float64(kept) / 200_000; share < 0.84 || share > 0.86 {
		t.Errorf("%.3f of the words are kept", share)
	}
	for year := range years {
		if year > 2000 || year < 1997 {
			t.Errorf("year %d", year)
		}
	}
	if len(years) < 3 {
		t.Errorf("all years are alike: %v", years)
	}
	if got := perturbed(paper{ID: "x"}, 1, random); got.Year != 0 {
		t.Errorf("an undated document got the year %d", got.Year)
	}
}

func TestQuestionsAreTheSameInEveryRun(t *testing.T) {
	t.Parallel()
	path := writePapers(t, t.TempDir(), "docs.jsonl", tinyPapers(30))
	all, err := drawQuestions(papers(path), 30)
	if err != nil {
		t.Fatal(err)
	}
	again, err := drawQuestions(papers(path), 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 30 || !reflect.DeepEqual(all[:10], again) {
		t.Fatalf("%d questions; %q is not the beginning of %q", len(all), again, all)
	}
	if !strings.HasPrefix(all[0], "What is known about statistical ") || !strings.HasSuffix(all[0], "?") {
		t.Errorf("no question: %q", all[0])
	}
	if n := len(strings.Fields(all[1])); n < 2 || n > 3 {
		t.Errorf("not short: %q", all[1])
	}
	if !strings.HasPrefix(all[2], "We study") && all[2] != "" {
		t.Errorf("no sentence of an abstract: %q", all[2])
	}
}

func TestQuestionsNeedTexts(t *testing.T) {
	t.Parallel()
	path := writePapers(t, t.TempDir(), "docs.jsonl", []paper{{ID: "a", Title: "Only a title"}})
	if _, err := drawQuestions(papers(path), 3); err == nil {
		t.Error("questions were drawn from nothing")
	}
}

func TestContentWords(t *testing.T) {
	t.Parallel()
	if got, want := contentWords("What is the Parsing of parsing, e.g. by GPT-4?",
		true), []string{"parsing", "e", "g", "gpt", "4"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := contentWords("parsing Parsing", false); len(got) != 2 {
		t.Errorf("%q", got)
	}
}
