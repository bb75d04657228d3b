package app

import (
	"context"
	"fmt"
	"log/slog"

	"carrel/internal/account"
)

// newSpending returns the spend ledger. Its entries record the price per million input and output tokens.
func (in *App) newSpending() *account.Spending {
	known := prices(in.Config.Model)
	return account.NewSpending(in.Store, in.Clock, func(name string) string {
		price, _ := known.Of(name)
		return fmt.Sprintf("%d/%d", price.In, price.Out)
	})
}

// checkSpend settles reservations left open by crashes and logs an error for every sum that differs from the ledger.
func (in *App) checkSpend(ctx context.Context, log *slog.Logger) error {
	differences, err := in.Spending.Tend(ctx)
	for _, d := range differences {
		log.ErrorContext(ctx, "a stored spend sum differs from the ledger; see: carrel admin spend check",
			"of", d.Of, "id", d.ID, "month", d.Month, "spent", d.Spent, "rows", d.RowsSpent, "reserved", d.Reserved, "rowsReserved", d.RowsReserved)
	}
	return err
}
