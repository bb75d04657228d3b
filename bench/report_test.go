package main

import (
	"strings"
	"testing"
	"time"
)

// exampleReport has Carrel at four times PocketBase's rate in every scenario.
func exampleReport() *report {
	o := options{loadFlags: loadFlags{connections: 32, rounds: 1, duration: time.Second}, rows: 300}
	ours := &contestant{server: &carrel{}, starts: []time.Duration{90 * time.Millisecond}, idle: 41 << 20}
	theirs := &contestant{server: &pocketBase{}, starts: []time.Duration{20 * time.Millisecond}, idle: 20 << 20}
	rep := newReport(runFlags{}, o, []*contestant{ours, theirs})
	for _, s := range scenarios {
		rounds := [][]sample{roundsOf(600), roundsOf(100)}
		rep.results = append(rep.results, result{
			scenario: s, rounds: rounds, ratios: ratios(rounds[0], rounds[1]),
			summaries: []summary{summarise(rounds[0], spent{server: 4 * time.Second}), summarise(rounds[1], spent{server: 6 * time.Second})},
		})
	}
	return rep
}

// line returns the first line that contains all words.
func line(text string, words ...string) string {
next:
	for l := range strings.Lines(text) {
		for _, w := range words {
			if !strings.Contains(l, w) {
				continue next
			}
		}
		return l
	}
	return ""
}

func TestReportSaysWhichTargetsAreMet(t *testing.T) {
	t.Parallel()
	var text, markdown strings.Builder
	rep := exampleReport()
	if err := rep.page().writeText(&text); err != nil {
		t.Fatal(err)
	}
	if err := rep.page().writeMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text.String(), markdown.String()} {
		for _, want := range [][]string{
			{"list of 50 rows", "6.0×", "≥ 5×", "met", "9.0×"},
			{"single read", "6.0×", "≥ 8×", "NOT met"},
			{"durable create", "6.0×", "≥ 5×", "met"},
			{"Carrel", "90 ms", "≤ 40 ms", "NOT met", "41 MB", "≤ 35 MB", "NOT met"},
		} {
			if line(out, want...) == "" {
				t.Errorf("no line with %q in:\n%s", want, out)
			}
		}
		if l := line(out, "list of 50 rows", "≥ 5×"); strings.Contains(l, "NOT") {
			t.Errorf("a met target reads %q", l)
		}
	}
}

func TestReportOfOneServerHasNoRatios(t *testing.T) {
	t.Parallel()
	rep := exampleReport()
	rep.contestants = rep.contestants[1:]
	for i := range rep.results {
		rep.results[i].ratios = nil
		rep.results[i].summaries = rep.results[i].summaries[1:]
	}
	var text strings.Builder
	if err := rep.page().writeText(&text); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "ratio") || strings.Contains(text.String(), "met") {
		t.Errorf("got:\n%s", text.String())
	}
}

func TestFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"--only mysql", "--scenarios list,write", "--scenarios list,list", "--rows 49", "--connections 0",
		"--rounds 0", "--starts 0", "--duration 0s", "--duration 1h", "stray",
	} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s was accepted", args)
		}
	}
	s, err := parse([]string{"--only", "carrel", "--scenarios", "read,list"})
	if err != nil || len(s.scenarios) != 2 || s.scenarios[0].key != "list" {
		t.Errorf("%+v, %v", s, err)
	}
}
