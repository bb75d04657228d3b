package embedding_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/embedding"
)

// free charges nobody.
type free struct{}

func (free) HoldVectors(context.Context, embedding.Owner, string, float64, int64) (string, error) {
	return "", nil
}

func (free) SettleVectors(context.Context, string, int64, bool) error { return nil }

// purse charges the accounts in the database, as the server does.
type purse struct{ *billing.Spending }

func (p purse) HoldVectors(
	ctx context.Context, o embedding.Owner, model string, _ float64, micros int64,
) (string, error) {
	return p.Hold(
		ctx,
		billing.Purchase{
			UserID: o.UserID, AgentID: o.AgentID, Kind: billing.MeteredEmbedding, Model: model, Micros: micros,
		},
	)
}

func (p purse) SettleVectors(ctx context.Context, id string, micros int64, estimated bool) error {
	return p.SettleHold(ctx, id, micros, estimated)
}

func TestOwnersPayForTheirVectorsAndWaitAtTheirCap(t *testing.T) {
	onBoth(t, func(w *world) {
		ctx, now := t.Context(), w.clock.Now()
		w.must(w.db.InsertUser(ctx, account.User{ID: "other", Email: "o", Plan: core.PlanOpen, CreatedAt: now}, "none"))
		theirs, theirAgent := core.NewID(core.PrefixSource), core.NewID(core.PrefixAgent)
		w.must(w.db.InsertAgent(ctx, agent.Agent{
			ID: theirAgent, UserID: "other", Name: "three", CreatedAt: now, UpdatedAt: now,
			Sources: []agent.Source{{ID: theirs, Name: "three", Kind: "upload", Default: true, Status: "ready"}},
		}))
		w.payer = purse{billing.NewService(billing.Deps{
			Store: w.db, Clock: w.clock, Audit: audit.New(audit.Deps{Store: w.db, Clock: w.clock, Log: slog.New(slog.DiscardHandler)}),
		}).Spending}
		n := w.start(true)
		w.must(w.db.SetSpendCap(ctx, "usr", new(int64(0))))
		w.put(w.sources[0], 1, "mine: one two three", "also mine: four five")
		w.put(theirs, 1, "theirs: six seven eight")
		w.must(n.Check(ctx))
		w.eventually("those who can pay have vectors", func() bool { return n.found()["theirs"] == "1/1" })
		w.same("paid while one waits", w.paid(), []string{"theirs\nsix seven eight"})
		through, err := w.db.EmbeddedThrough(ctx, embedding.Space{Model: w.endpoint.Model, Dims: 64})
		w.must(err)
		w.same("places up to which nothing lacks vectors", through, 0)
		w.eventually("it is tried again later", func() bool {
			waits, ok := w.active()
			return ok && waits.RunAt.After(w.clock.Now())
		})

		w.must(w.db.SetSpendCap(ctx, "usr", nil))
		w.clock.Advance(time.Hour)
		w.eventually("no task is left", func() bool { _, busy := w.active(); return !busy })
		w.same("found", n.found(), map[string]string{"mine": "1/1", "also mine": "1/1", "theirs": "1/1"})
		day := core.Day(now)
		lines, err := w.db.UsageLines(ctx, "other", day, day)
		w.must(err)
		// A million tokens cost 2 cents; fractions of a micro-dollar are rounded up.
		w.same("the ledger", lines, []billing.UsageLine{{
			Day: day, AgentID: theirAgent, Model: w.endpoint.Model, Kind: billing.MeteredEmbedding,
			Usage: billing.Usage{Name: "", Calls: 1, Spent: 1},
		}})
		differences, err := w.db.SpendDifferences(ctx)
		w.must(err)
		w.same("sums that are wrong", len(differences), 0)
		_, used, err := w.db.SpendOf(ctx, "usr", core.Month(now))
		w.must(err)
		w.same("spent by the one who waited", used, 1)
	})
}
