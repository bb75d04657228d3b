package store_test

import (
	"slices"
	"testing"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/task"
)

// callsOfTurn is how many paid calls a turn of the benchmark makes: a long research has some dozens. What is settled is looked
// for among the rows of its turn, so a turn of thousands, which there is not, would measure that.
const callsOfTurn = 20

// BenchmarkReserveAndSettle is what a paid call costs beside the call itself: one row put aside and one settled, each
// durable when it returns. The median is reported, since a sync of the disk now and then takes long.
func BenchmarkReserveAndSettle(b *testing.B) {
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) {
			db, _, _ := benchDB(b, e)
			ctx, now := b.Context(), time.Now()
			limit := int64(1e15)
			if err := db.SetSpendCap(ctx, benchUser, &limit); err != nil {
				b.Fatal(err)
			}
			begin := func() task.Task {
				turn, err := db.InsertTask(ctx, task.Task{
					ID: core.NewID(core.PrefixTurn), Kind: "turn", Key: core.NewID(core.PrefixThread), UserID: benchUser, CredentialID: "crd", Owner: "n",
					RunAt: now, DeadlineAt: now.Add(time.Hour), CreatedAt: now,
				})
				if err != nil {
					b.Fatal(err)
				}
				return turn
			}
			var turn task.Task
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				if len(took)%callsOfTurn == 0 {
					turn = begin()
				}
				start := time.Now()
				err := db.ReserveSpend(ctx, billing.Reservation{
					ID: core.NewID(core.PrefixSpend), UserID: benchUser, TurnID: turn.ID, Kind: billing.MeteredModel, Model: "m", Micros: 10, At: now,
				})
				if err == nil {
					err = db.SettleSpend(ctx, turn.ID, 5, false, now)
				}
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			reportMedian(b, took)
		})
	}
}

// BenchmarkBareTransactions is what to hold it against, in the same run and on the same disk: two transactions, each
// with nothing but one row.
func BenchmarkBareTransactions(b *testing.B) {
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) {
			db, _, _ := benchDB(b, e)
			ctx, now := b.Context(), time.Now()
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				for range 2 {
					if err := db.InsertKey(ctx, credential.Key{ID: core.NewID("crd"), UserID: benchUser, Kind: core.CredentialKey, CreatedAt: now}, []byte(core.NewSeed())); err != nil {
						b.Fatal(err)
					}
				}
				took = append(took, time.Since(start))
			}
			reportMedian(b, took)
		})
	}
}

func reportMedian(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}
