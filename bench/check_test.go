package main

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestDrawnTextsAreTheSameInEveryRun(t *testing.T) {
	t.Parallel()
	var wordy []record
	for r := range madeUp(50) {
		wordy = append(wordy, r)
	}
	texts := drawTexts(wordy, 3, longestText)
	for i, again := range drawTexts(wordy, 3, longestText) {
		if !slices.Equal(texts[i].sentences, again.sentences) {
			t.Errorf("text %d differs", i)
		}
		n := utf8.RuneCountInString(strings.Join(again.sentences, " "))
		if n > longestText || n < longestText-500 {
			t.Errorf("text %d has %d code points", i, n)
		}
	}
}

func TestStatesAreCountedByKindOfSentence(t *testing.T) {
	t.Parallel()
	text := draft{sentences: []string{"Äpfel are green.", "Pears are.", "Plums fly.", "Nuts are hard."}}
	var r checkReport
	reply := `{"sentences":[{"start":0,"state":"quoted"},{"start":17,"state":"cited"},{"start":22,"state":"talk"},` +
		`{"start":28,"state":"uncited"},{"start":39,"state":"quoted"}]}`
	if err := r.count([]byte(reply), text); err != nil {
		t.Fatal(err)
	}
	if r.counts[0]["quoted"] != 2 || r.counts[1]["cited"] != 1 || r.counts[2]["uncited"] != 1 || len(r.counts[1]) != 1 {
		t.Errorf("counted %v", r.counts)
	}
	for _, bad := range []string{"{", `{"sentences":[]}`} {
		if r.count([]byte(bad), text) == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestReportOfChecksComparesASentenceWithASearch(t *testing.T) {
	t.Parallel()
	r := checkReport{
		settings: checkSettings{length: longestText}, documents: 100_000, sentences: 300,
		checks:   summary{p50: 3100 * time.Millisecond, requests: 2, allocations: 1234},
		searches: summary{p50: 10 * time.Millisecond, requests: 300},
	}
	var b strings.Builder
	if err := r.page().writeText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"≤ 3000 ms   NOT met", "2.07×", "1234", "150 sentences on average"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, &b)
		}
	}
}

func TestWrongFlagsOfTheCheckBenchAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"x"}, {"-documents", "1"}, {"-texts", "0"}, {"-length", "20001"}, {"-length", "10"}} {
		if _, err := parseCheck(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}
