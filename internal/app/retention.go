package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"carrel/internal/task"
)

// retentionKind is the task kind of the hourly work that one node does for all: it deletes expired records, rolls up
// the ledger, prunes the audit log and checks the sums of the ledger.
const retentionKind = "retention"

const day = 24 * time.Hour

// How long records are kept that have no setting.
const (
	idempotencyLife = day
	rateLimitLife   = time.Hour
	deliveryLife    = 7 * day
	importLife      = 30 * day
	billingLife     = 60 * day // twice the period in which Stripe repeats events
)

// registerRetention registers the kind with the engine.
func (in *App) registerRetention(log *slog.Logger) {
	in.Tasks.Register(task.Kind{
		Name: retentionKind,
		Run: func(ctx context.Context, _ *task.Run) (task.Outcome, error) {
			return task.Outcome{}, in.applyRetention(ctx, log)
		},
	})
}

// startRetention submits the task of this hour. All nodes submit it under the same id, so that one of them runs it.
func (in *App) startRetention(ctx context.Context) error {
	hour := in.Clock.Now().UTC().Format("2006010215")
	_, err := in.Tasks.Submit(ctx, task.Spec{ID: "rtn_" + hour, Kind: retentionKind, Key: retentionKind})
	return err
}

// applyRetention deletes and rolls up what is older than the settings say, in batches.
func (in *App) applyRetention(ctx context.Context, log *slog.Logger) error {
	keep, now := in.Config.Retention, in.Clock.Now()
	errs := []error{in.reconcileSpend(ctx, log), in.pruneExpired(ctx)}
	if keep.LedgerDays > 0 {
		errs = append(errs, in.Billing.Spending.RollUp(ctx, now.AddDate(0, 0, -keep.LedgerDays)))
	}
	if keep.AuditDays > 0 {
		// By whole days, because every deletion adds an entry.
		errs = append(errs, in.Audit.Prune(ctx, now.AddDate(0, 0, -keep.AuditDays).UTC().Truncate(day)))
	}
	return errors.Join(errs...)
}

// pruneExpired deletes records that are no longer needed.
func (in *App) pruneExpired(ctx context.Context) error {
	now := in.Clock.Now()
	return errors.Join(
		in.Store.PruneIdempotency(ctx, now.Add(-idempotencyLife)),
		in.Store.PruneRateLimits(ctx, now.Add(-rateLimitLife)),
		in.Store.PruneDeliveries(ctx, now.Add(-deliveryLife)),
		in.Store.PruneEmbeddingTasks(ctx, now.Add(-deliveryLife)),
		in.Store.PruneImports(ctx, now.Add(-importLife)),
		in.Store.PruneBillingEvents(ctx, now.Add(-billingLife)),
		in.Store.PruneBackupTasks(ctx, now.Add(-backupTaskLife)),
		in.OAuth.Prune(ctx), in.sessions.Prune(ctx), in.SignIn.Prune(ctx), in.Credentials.PruneCodes(ctx),
		in.Sources.Prune(ctx), in.Imports.PruneUploads(ctx), in.exports.Prune(ctx), in.links.Prune(ctx),
		in.bin.Prune(ctx), in.Originals.Sweep(ctx), in.Deletions.RunHousekeeping(ctx))
}
