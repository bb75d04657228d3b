package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// tinyData is a folder with a judged collection, a folder that is no collection, and a collection for speed.
func tinyData(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	all := tinyPapers(40)
	judged := filepath.Join(data, "judged")
	writePapers(t, judged, "docs.jsonl.gz", all)
	writeText(t, judged, "queries.jsonl", `{"id": "1", "text": "what does method m3 cost"}
{"id": "2", "text": "statistical speech"}
{"id": "3", "text": "nothing is relevant to this"}
`)
	writeText(t, judged, "qrels.tsv", "1\tp003\t2\n2\tp003\t1\n2\tp010\t1\n2\tp005\t0\n")
	writePapers(t, filepath.Join(data, "acl"), "docs.jsonl", all)
	writeText(t, filepath.Join(data, "notes"), "README", "nothing to measure")
	writeText(t, data, "README.md", "a file beside the folders")
	return data
}

func TestCollectionsAreFoundAndOthersNamed(t *testing.T) {
	t.Parallel()
	judged, passedOver, err := collections(tinyData(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"acl", "notes"}; !reflect.DeepEqual(passedOver, want) {
		t.Errorf("passed over %q, want %q", passedOver, want)
	}
	if len(judged) != 1 || judged[0].name != "judged" || judged[0].skipped != 1 {
		t.Fatalf("%+v", judged)
	}
	want := []question{
		{"1", "what does method m3 cost", map[string]int{"p003": 2}},
		{"2", "statistical speech", map[string]int{"p003": 1, "p010": 1}},
	}
	if !reflect.DeepEqual(judged[0].questions, want) {
		t.Errorf("%+v, want %+v", judged[0].questions, want)
	}
}

func TestFaultyJudgmentsAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1\tp003\n":        "line 1: 2 fields",
		"1\tp003\tgood\n":  "line 1",
		"9\tp003\t1\n":     "none of the questions",
		"1\tp003\t0\r\n\n": "none of the questions",
	} {
		dir := t.TempDir()
		writePapers(t, dir, "docs.jsonl", tinyPapers(4))
		writeText(t, dir, "queries.jsonl", `{"id": "1", "text": "parsing"}`)
		writeText(t, dir, "qrels.tsv", text)
		if _, _, err := readCollection(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestMissingDataIsASentenceAndExitCodeTwo(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, args := range [][]string{
		{"eval"},
		{"eval", "-data", filepath.Join(empty, "absent")},
		{"eval", "-data", empty},
		{"-quick"},
		{"-quick", "-data", empty},
		{"eval", "-data", empty, "-k", "0"},
		{"-sizes", "many"},
		{"-engines", "lucene"},
		{"-unknown"},
		{"eval", "stray"},
	} {
		err := run(t.Context(), args, strings.NewReader(""), t.Output(), t.Output())
		if err == nil || exitCode(err) != unable {
			t.Errorf("%q: %v", args, err)
		}
	}
}
