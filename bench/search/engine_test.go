package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary run as the measuring child process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(failed)
		}
		return
	}
	os.Exit(m.Run())
}

// eachEngine calls f with every engine after it was filled, closed and reopened.
func eachEngine(t *testing.T, f func(t *testing.T, e engine)) {
	for _, k := range kinds {
		t.Run(k.key, func(t *testing.T) {
			t.Parallel()
			path := writePapers(t, t.TempDir(), "docs.jsonl", tinyPapers(50))
			dir := t.TempDir()
			if _, err := build(t.Context(), k, task{Dir: dir, Documents: path, Size: batchSize + 100},
				&progress{w: t.Output()}); err != nil {
				t.Fatal(err)
			}
			e, err := k.open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.close(); err != nil {
					t.Error(err)
				}
			}()
			f(t, e)
		})
	}
}

func TestEveryEngineFindsIndexedDocuments(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, e engine) {
		search := func(r request) []string {
			ids, err := e.search(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return ids
		}
		// The original and its 41 copies, in any batch.
		ids := search(request{text: "which method is m17?", limit: 100, counts: true})
		if len(ids) < 42 {
			t.Fatalf("%d results", len(ids))
		}
		for _, id := range ids[:42] {
			if id != "p017" && !strings.HasPrefix(id, "p017~") {
				t.Errorf("found %s", id)
			}
		}
		// p017 is from 2015; its copies are from 2012 to 2015.
		dated := search(request{text: "m17", limit: 100, from: 2015, to: 2020})
		if !slices.Contains(dated, "p017") || len(dated) >= len(ids) || len(dated) < 5 {
			t.Errorf("%d of 2015 to 2020: %q", len(dated), dated)
		}
		if got := search(request{text: "m17", limit: 100, from: 2018, to: 2020}); len(got) != 0 {
			t.Errorf("of later years: %q", got)
		}
		if got := search(request{text: "", limit: 10}); len(got) != 0 {
			t.Errorf("nothing was asked for: %q", got)
		}
		if got := search(request{text: "statistical", limit: 10}); len(got) != 10 {
			t.Errorf("%d results, asked for 10", len(got))
		}
	})
}

func TestEvalPrintsEveryCollectionAndTheMean(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), []string{"eval", "-data", tinyData(t), "-peers", "-per-query", "-k", "5"},
		nil, &out, t.Output()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"nDCG@5", "recall@100", "words", "built-in", "acl titles",
		"Bleve, several fields", "SQLite FTS5", "judged, by question",
		"what does method m3 cost", "mean", "Passed over: notes,",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestACollectionWithATargetSaysWhetherItIsMet(t *testing.T) {
	t.Parallel()
	q := quality{
		depth: 10, engines: kinds[:1], documents: []int{1, 1},
		collections: []collection{{name: "cacm"}, {name: "cisi"}},
		answers:     [][][]judgment{{{{ndcg: 0.53}}}, {{{ndcg: 0.40}}}},
	}
	rows := q.tables()[0].rows
	if got, want := rows[0][3:], []string{"0.5300", "≥ 0.53", "met"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := rows[1][3:], []string{"0.4000", "≥ 0.41", "NOT met"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := rows[2][3:], []string{"0.4650", "", ""}; !slices.Equal(got, want) {
		t.Errorf("mean: %q, want %q", got, want)
	}
}

func TestAQuickRunPrintsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	markdown, svg := filepath.Join(dir, "report.md"), filepath.Join(dir, "report.svg")
	var out strings.Builder
	args := []string{
		"-data", tinyData(t), "-quick", "-sizes", "60,200", "-queries", "6", "-dir", dir, "-markdown", markdown, "-svg", svg,
	}
	if err := run(t.Context(), args, nil, &out, t.Output()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"of 2015–2020", "with counts", "documents/s", "resident memory", "nDCG@10", "v2.6.1", "200 ", "has 2s for a workload",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
	report, err := os.ReadFile(markdown)
	if err != nil || !strings.Contains(string(report), "| 200 | plain | SQLite FTS5 | 6 |") {
		t.Errorf("%v:\n%s", err, report)
	}
	drawing, err := os.ReadFile(svg)
	if err != nil || xml.Unmarshal(drawing, &struct{}{}) != nil || !strings.Contains(string(drawing), "200 documents") {
		t.Errorf("%v:\n%s", err, drawing)
	}
	left, err := filepath.Glob(filepath.Join(dir, "carrel-bench-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q %v", left, err)
	}
}

func TestAChildEndsWithItsParent(t *testing.T) {
	t.Parallel()
	path := writePapers(t, t.TempDir(), "docs.jsonl", tinyPapers(50))
	raw, err := json.Marshal(task{Build: true, Engine: "fts5", Dir: t.TempDir(), Documents: path, Size: maxSize})
	if err != nil {
		t.Fatal(err)
	}
	// A closed standard input means that the parent is gone.
	err = run(t.Context(), []string{childCommand, string(raw)}, strings.NewReader(""), io.Discard, t.Output())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// slowEngine delays every result.
type slowEngine struct{ asked int }

func (e *slowEngine) search(context.Context, request) ([]string, error) {
	e.asked++
	time.Sleep(2 * time.Millisecond)
	return nil, nil
}
func (*slowEngine) add(context.Context, []paper) error { return nil }
func (*slowEngine) finish(context.Context) error       { return nil }
func (*slowEngine) close() error                       { return nil }

func TestSlowEngineGetsFewerQueries(t *testing.T) {
	t.Parallel()
	e := &slowEngine{}
	questions := make([]string, maxQuestions)
	times, err := askAll(t.Context(), e, workloads[0],
		task{Questions: questions, Budget: 4 * time.Millisecond}, &progress{w: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	if len(times) != fewest || !slices.IsSorted(times) {
		t.Errorf("%d times, sorted %v; want the fewest, %d", len(times), slices.IsSorted(times), fewest)
	}
	if warmUp := e.asked - len(times); warmUp < 1 || warmUp > 2 {
		t.Errorf("%d questions to warm up in 1 ms", warmUp)
	}
}

func TestSizesAreReadWithTheirUnits(t *testing.T) {
	t.Parallel()
	got, err := parseSizes("110k,1m,2500,1M")
	if want := []int{110_000, 1_000_000, 2500, 1_000_000}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, wrong := range []string{"", "0", "-1k", "k", "1g", "21m", "1k,,2k"} {
		if _, err := parseSizes(wrong); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}

func TestTargetsApplyAtTheirSizeOnly(t *testing.T) {
	t.Parallel()
	carrel, _ := kindOf(ours)
	bleve, _ := kindOf("bleve")
	at := func(k kind, size int, p50 time.Duration) result {
		return result{
			kind: k, size: size,
			built: built{Took: time.Duration(size) * 50 * time.Microsecond, Bytes: 1 << 30},
			served: served{
				Runs:   []asked{{"plain", []time.Duration{p50}}, {"years", []time.Duration{2 * p50}}},
				Memory: memory{Resident: 1 << 29},
			},
		}
	}
	c := comparison{
		settings: settings{sizes: []int{1000, targetSize}},
		results:  []result{at(carrel, 1000, time.Second), at(bleve, 1000, 12*time.Second)},
	}
	if rows := c.targetTable().rows; len(rows) > 0 {
		t.Errorf("judged with 1,000 documents: %q", rows)
	}
	c.results = append(c.results, at(carrel, targetSize, 8*time.Millisecond))
	var verdicts []string
	for _, row := range c.targetTable().rows {
		verdicts = append(verdicts, row[3])
	}
	if want := []string{"met", "met", "NOT met", "met", "met"}; !slices.Equal(verdicts, want) {
		t.Errorf("%q, want %q", verdicts, want)
	}
	if got, want := c.latencyTable().rows[1], []string{
		"1,000", "plain", "Bleve", "1", "12000 ms", "12000 ms", "12000 ms", "12×",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
