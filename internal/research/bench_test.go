package research_test

import (
	"testing"

	"carrel/internal/source"
	"carrel/internal/thread"
)

// BenchmarkTurn is what the loop takes by itself: the index has its answer ready, and the model answers at once. The
// task engine's own share is in it, with its writes to the disk.
func BenchmarkTurn(b *testing.B) {
	for _, name := range []string{"quotes", "model"} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b).landmarks()
			ready, err := w.library(source.FindRequest{Text: "Who described the memex?", Limit: 20})
			if err != nil {
				b.Fatal(err)
			}
			w.find = func(source.FindRequest) (source.Found, error) { return ready, nil }
			w.counted = &source.Statistics{Units: 64, Holders: map[string]int{"memex": 3, "describ": 9}}
			if name == "model" {
				w.model = instant(brain{plan: plans("memex")}.answerTo)
			}
			e := w.engine(w.db)
			b.ReportAllocs()
			for b.Loop() {
				id := w.submit(e, thread.Question{Text: "Who described the memex?"})
				if _, err := e.Wait(b.Context(), id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
