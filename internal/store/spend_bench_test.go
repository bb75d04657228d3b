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

// callsOfTurn is the number of paid calls per turn; a long research makes some dozens. Settling searches the rows of
// the turn, so an unrealistic number would dominate the measurement.
const callsOfTurn = 20

// BenchmarkReserveAndSettle measures the overhead of a paid call: one reservation and one settlement, both durable. It
// reports the median, because single syncs to disk can be slow.
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
					ID: core.NewID(core.PrefixTurn), Kind: "turn", Key: core.NewID(core.PrefixThread), UserID: benchUser,
					CredentialID: "crd", Owner: "n",
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
					ID: core.NewID(core.PrefixSpend), UserID: benchUser, TurnID: turn.ID, Kind: billing.MeteredModel, Model: "m",
					Micros: 10, At: now,
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

// BenchmarkBareTransactions is the baseline on the same disk: two transactions with one row each.
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
					if err := db.InsertKey(
						ctx, credential.Key{ID: core.NewID("crd"), UserID: benchUser, Kind: core.CredentialKey, CreatedAt: now},
						[]byte(core.NewSeed()),
					); err != nil {
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
