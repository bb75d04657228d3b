package app

import (
	"context"
	"fmt"
	"log/slog"

	"carrel/internal/billing"
)

// newBilling returns plans, spend and usage. The price version of a ledger row is the price per million tokens, input
// and output.
func (in *App) newBilling() *billing.Service {
	return billing.NewService(billing.Deps{
		Store: in.Store, Clock: in.Clock, Audit: in.Audit, DefaultPlan: in.Config.DefaultPlan,
		PriceVersion: in.priceVersion,
	})
}

func (in *App) priceVersion(model string) string {
	price, _ := prices(in.Config.Model).Of(model)
	return fmt.Sprintf("%d/%d", price.In, price.Out)
}

// reconcileSpend closes holds left open by crashes and logs totals that differ from the ledger.
func (in *App) reconcileSpend(ctx context.Context, log *slog.Logger) error {
	differences, err := in.Billing.Spending.Reconcile(ctx)
	for _, d := range differences {
		log.ErrorContext(ctx, "spend total differs from the ledger; see: carrel admin spend check",
			"of", d.Of, "id", d.ID, "month", d.Month, "spent", d.Spent, "rows", d.RowsSpent,
			"reserved", d.Reserved, "rowsReserved", d.RowsReserved)
	}
	return err
}
