package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"carrel/internal/search"
)

// abstracts returns documents of the size of abstracts, with a natural distribution of words.
func abstracts(n int) []search.Document {
	random := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(random, 1.1, 8, 50_000)
	words := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "wo%xrd ", zipf.Uint64())
		}
		return b.String()
	}
	out := make([]search.Document, n)
	for i := range out {
		out[i] = search.Document{
			ID: fmt.Sprintf("doc_%026d", i), SourceID: everywhere[i%3], Title: words(9), Text: words(140),
			Authors: []string{words(2), words(2)}, Year: 1980 + i%45,
		}
	}
	return out
}

func BenchmarkApply(b *testing.B) {
	const batch = 10_000
	documents := abstracts(batch)
	changes := make([]search.Change, batch)
	for i, d := range documents {
		changes[i] = search.Change{Op: search.Put, ID: d.ID, Document: d}
	}
	ix := open(b, b.TempDir(), Options{})
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		span := span(uint64(n*batch), uint64((n+1)*batch))
		for i := range changes {
			changes[i].Seq = span.After + uint64(i) + 1
		}
		if err := ix.Apply(context.Background(), span, changes); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "documents/s")
}

// sliceLog is a log of documents that never change.
type sliceLog []search.Document

func (l sliceLog) Head(context.Context) (uint64, error) { return uint64(len(l)), nil }

func (l sliceLog) Changes(_ context.Context, after, through uint64, limit int) ([]search.Change, error) {
	out := make([]search.Change, 0, limit)
	for i := after; i < through && len(out) < limit; i++ {
		out = append(out, search.Change{Seq: i + 1, Op: search.Put, ID: l[i].ID, Document: l[i]})
	}
	return out, nil
}

func BenchmarkRebuild(b *testing.B) {
	log := sliceLog(abstracts(100_000))
	b.ReportAllocs()
	for b.Loop() {
		ix := open(b, b.TempDir(), Options{})
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		f := NewFollower(ix, log, FollowerOptions{Log: quiet, OnAdvance: func(through uint64) {
			if through == uint64(len(log)) {
				close(done)
			}
		}})
		go func() { <-done; stop() }()
		f.Run(ctx)
	}
	b.ReportMetric(float64(len(log)*b.N)/b.Elapsed().Seconds(), "documents/s")
}

func BenchmarkApplyOneDocument(b *testing.B) {
	documents := abstracts(1000)
	ix := open(b, b.TempDir(), Options{})
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		d := documents[n%len(documents)]
		span := span(uint64(n), uint64(n+1))
		if err := ix.Apply(
			context.Background(), span, []search.Change{{Seq: span.Through, Op: search.Put, ID: d.ID, Document: d}},
		); err != nil {
			b.Fatal(err)
		}
		if _, err := ix.mergeSmall(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
