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

// free does not charge.
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
	onBoth(t, func(f *fixture) {
		ctx, now := t.Context(), f.clock.Now()
		f.must(f.db.InsertUser(ctx, account.User{ID: "other", Email: "o", Plan: core.PlanOpen, CreatedAt: now}, "none"))
		theirs, theirAgent := core.NewID(core.PrefixSource), core.NewID(core.PrefixAgent)
		f.must(f.db.InsertAgent(ctx, agent.Agent{
			ID: theirAgent, UserID: "other", Name: "three", CreatedAt: now, UpdatedAt: now,
			Sources: []agent.Source{{ID: theirs, Name: "three", Kind: "upload", Default: true, Status: "ready"}},
		}))
		f.payer = purse{billing.NewService(billing.Deps{
			Store: f.db, Clock: f.clock,
			Audit: audit.New(audit.Deps{Store: f.db, Clock: f.clock, Log: slog.New(slog.DiscardHandler)}),
		}).Spending}
		n := f.start(true)
		f.must(f.db.SetSpendCap(ctx, "usr", new(int64(0))))
		f.put(f.sources[0], 1, "mine: one two three", "also mine: four five")
		f.put(theirs, 1, "theirs: six seven eight")
		f.must(n.Check(ctx))
		f.eventually("those who can pay have vectors", func() bool { return n.found()["theirs"] == "1/1" })
		f.same("paid while one waits", f.paid(), []string{"theirs\nsix seven eight"})
		through, err := f.db.EmbeddedThrough(ctx, embedding.Space{Model: f.endpoint.Model, Dims: 64})
		f.must(err)
		f.same("places up to which nothing lacks vectors", through, 0)
		f.eventually("it is tried again later", func() bool {
			waits, ok := f.active()
			return ok && waits.RunAt.After(f.clock.Now())
		})

		f.must(f.db.SetSpendCap(ctx, "usr", nil))
		f.clock.Advance(time.Hour)
		f.eventually("no task is left", func() bool { _, busy := f.active(); return !busy })
		f.same("found", n.found(), map[string]string{"mine": "1/1", "also mine": "1/1", "theirs": "1/1"})
		day := core.Day(now)
		lines, err := f.db.UsageLines(ctx, "other", day, day)
		f.must(err)
		// A million tokens cost 2 cents; fractions of a micro-dollar are rounded up.
		f.same("the ledger", lines, []billing.UsageLine{{
			Day: day, AgentID: theirAgent, Model: f.endpoint.Model, Kind: billing.MeteredEmbedding,
			Usage: billing.Usage{Name: "", Calls: 1, Spent: 1},
		}})
		differences, err := f.db.SpendDifferences(ctx)
		f.must(err)
		f.same("sums that are wrong", len(differences), 0)
		_, used, err := f.db.SpendOf(ctx, "usr", core.Month(now))
		f.must(err)
		f.same("spent by the one who waited", used, 1)
	})
}
