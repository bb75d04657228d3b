package httpapi

import (
	"testing"

	"carrel/internal/source"
)

func TestCompletionLeavesOutFieldsThatAPersonHasSet(t *testing.T) {
	t.Parallel()
	d := source.Document{Completed: source.Completion{From: "crossref", Fields: []string{"title", "year"}}}
	if got := summaryOf(d).Completed; got.Value.From != "crossref" || len(got.Value.Fields) != 2 {
		t.Errorf("completed %+v", got)
	}
	year := 1999
	d.Edits = source.Edits{Year: &year}
	if got := completionOf(d).Value.Fields; len(got) != 1 || got[0] != "title" {
		t.Errorf("after an edit: %v", got)
	}
	d.Completed.Fields = []string{"year"}
	if completionOf(d).Set || completionOf(source.Document{}).Set {
		t.Error("a document without completed fields has a completion")
	}
}
