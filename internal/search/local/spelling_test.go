package local

import (
	"context"
	"testing"

	"carrel/internal/search"
)

func TestMisspeltQueryIsCorrected(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	w.put(note("d1", "A", "Retrieval", "retrieving documents quickly"))
	w.put(note("d2", "B", "Retrospection", "of documentaries"))
	w.put(note("d3", "B", "Secret", "retrieval of cryptograms"))
	w.put(note("d4", "A", "Relations", "the relational model of databases"))
	w.put(note("d5", "A", "Events", "an event is consistent"))
	catchUp(t, ix, w)
	for _, c := range []struct{ query, corrected, first string }{
		{"retreival", "retrieval", "d1"},
		{`title:"retreival"  «quickly»`, `title:"retrieval"  «quickly»`, "d1"},
		{"retrieval", "", "d1"},
		// A typo in the ending changes the stem.
		{"relatoinal", "relational", "d4"},
		{"relationnal modle", "relational model", "d4"},
		{"relatonal modle", "relational model", "d4"},
		{"databasse", "databases", "d4"},
		{"Quikly", "quickly", "d1"},
		{"dcoumnets", "documents", "d1"}, // two edits
		{"elational", "", ""},            // at the first letter
		{"mdel", "model", "d4"},
		{"eventual", "", ""}, // a word of its own, and none would read "evental"
		{"evetnual", "", ""},
		{"evnet", "event", "d5"},
		{"mde", "", ""},
		{"relatoinal relatoinal", "relational relational", "d4"},
		{"reltional q1 q2 q3 q4 q5 q6 q7 q8", "", ""}, // too many unknown words
		{"zzzzzzzz", "", ""},
		{"relatoinal zzzzzzzz", "relational zzzzzzzz", "d4"}, // a result instead of none
		{"criptograms", "", ""},                              // a word of another source must not be disclosed
		{"", "", ""},
	} {
		r, err := ix.Search(context.Background(), search.Query{Text: c.query, Sources: []string{"A"}, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		first := ""
		if len(r.Hits) > 0 {
			first = r.Hits[0].ID
		}
		if r.Corrected != c.corrected || first != c.first {
			t.Errorf("%s is corrected to %q and finds %q, want %q and %q", c.query, r.Corrected, first, c.corrected, c.first)
		}
	}
}
