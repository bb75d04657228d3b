package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestGeneratedDocumentsAreTheSameInEveryRun(t *testing.T) {
	t.Parallel()
	s := corpusFlags{documents: 200}
	dir := t.TempDir()
	first, kept, err := writeCorpus(s, 30, filepath.Join(dir, "a.jsonl"))
	if err != nil || kept != 200 || len(first) != 30 {
		t.Fatalf("%d documents, %d questions, %v", kept, len(first), err)
	}
	again, _, err := writeCorpus(s, 30, filepath.Join(dir, "b.jsonl"))
	if err != nil || !slices.Equal(first, again) {
		t.Errorf("%v: %q, then %q", err, first, again)
	}
	a, errA := os.ReadFile(filepath.Join(dir, "a.jsonl"))
	b, errB := os.ReadFile(filepath.Join(dir, "b.jsonl"))
	if errA != nil || errB != nil || string(a) != string(b) || strings.Count(string(a), "\n") != 200 {
		t.Errorf("%v, %v: the files differ, or have not 200 lines", errA, errB)
	}
}

func TestCollectionMayBeCompressed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "acl"), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "acl", "docs.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	for range 5 {
		if err := json.NewEncoder(z).Encode(
			record{ID: "x", Title: "Parsing old letters by hand", Text: strings.Repeat("Letters were read by hand. ", 20)},
		); err != nil {
			t.Fatal(err)
		}
	}
	if z.Close() != nil || f.Close() != nil {
		t.Fatal("the collection could not be written")
	}
	questions, kept, err := writeCorpus(corpusFlags{data: dir, corpus: "acl", documents: 3},
		3, filepath.Join(dir, "out.jsonl"))
	if err != nil || kept != 3 || len(questions) != 3 ||
		questions[0] != "What is known about parsing old letters by hand?" {
		t.Errorf("%d documents, %q, %v", kept, questions, err)
	}
	more := filepath.Join(dir, "more.jsonl")
	if _, kept, err := writeCorpus(corpusFlags{data: dir, corpus: "acl", documents: 12}, 3, more); err != nil || kept != 12 {
		t.Errorf("%d documents of a collection of five, %v", kept, err)
	}
	lines, err := os.ReadFile(more)
	if n := strings.Count(string(lines), `"id":"x-2"`); err != nil || n != 2 {
		t.Errorf("%d documents are second copies, want 2; %v", n, err)
	}
}

func TestPacedModelTakesItsConfiguredTime(t *testing.T) {
	t.Parallel()
	m, err := newPacedModel(20*time.Millisecond, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	ask := `{"messages":[{"content":"<text-A kind=\"quote\" number=\"1\">\nfrom: x\n\nIt is of stone.\n</text-A>"}]}`
	resp, err := http.Post(m.url+"/chat/completions", "application/json", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body strings.Builder
	if _, err := io.Copy(&body, resp.Body); err != nil || !strings.HasSuffix(body.String(), "data: [DONE]\n\n") ||
		!strings.Contains(body.String(), `"The "`) {
		t.Errorf("%v: %s", err, &body)
	}
	// The model counts a call after its last byte, so the count may lag behind the reply.
	for end := time.Now().Add(5 * time.Second); ; {
		calls, spent, err := m.usage()
		if calls == 1 && err == nil && spent >= 20*time.Millisecond {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d calls, %v, %v", calls, spent, err)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestShareOfATurnExcludesTheModel(t *testing.T) {
	t.Parallel()
	r := agentReport{
		documents: 100_000, turns: summary{p50: 351 * time.Millisecond}, searches: summary{p50: 10 * time.Millisecond},
		models: []modelTurn{{turn: time.Second, model: 960 * time.Millisecond, calls: 3}},
	}
	var b strings.Builder
	if err := r.page().writeText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"351 ms     ≤ 350 ms   NOT met", "4.0 %      ≤ 5.0 %    met", "35.1×"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, &b)
		}
	}
}

func TestWrongFlagsOfTheAgentsBenchAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"x"}, {"-documents", "1"}, {"-turns", "0"}, {"-model-turns", "-1"}, {"-token", "1h"},
	} {
		if _, err := parseAgent(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}
