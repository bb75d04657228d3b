package main

import (
	"strings"
	"testing"
)

func TestTheWeightIsChosenOnOtherQueries(t *testing.T) {
	t.Parallel()
	// The first collection is best at weight .2, except in the first fold, where it is best at .1, like the second.
	tuned := tuning{weights: []float64{0, 0.1, 0.2}, collections: []string{"a", "b"}, values: [][][]float64{
		{{0, 0, 0, 0, 0}, {1, .5, .5, .5, .5}, {0, .9, .9, .9, .9}}, {{0, 0, 0, 0, 0}, {.1, .1, .1, .1, .1}, {0, 0, 0, 0, 0}},
	}}
	if rows := tuned.byFold().rows; rows[0][1] != "0.20" || rows[0][3] != "0.0000" || rows[folds][1] != "0.10 to 0.20" {
		t.Errorf("by fold: %q", rows)
	}
	if rows := tuned.byCollection().rows; rows[0][1] != "0.10" || rows[1][1] != "0.20" || rows[1][4] != "+0.0000" {
		t.Errorf("by collection: %q", rows)
	}
	if rows := tuned.byWeight().rows; len(rows) != 3 || rows[1][1] != "0.6000" || rows[1][3] != "0.3500" {
		t.Errorf("by weight: %q", rows)
	}
}

func TestTunePrintsEveryTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), []string{"tune", "-data", tinyData(t)}, nil, &out, t.Output()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"by weight", "0.60", "judged", "acl titles", "spread", "without the collection"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}
