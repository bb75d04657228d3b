package app

import (
	"context"
	"fmt"
	"log/slog"

	"carrel/internal/account"
)

// newSpending is what turns are paid from; its rows tell the price of a million tokens, in and out.
func (in *App) newSpending() *account.Spending {
	known := prices(in.Config.Model)
	return account.NewSpending(in.Store, in.Clock, func(name string) string {
		price, _ := known.Of(name)
		return fmt.Sprintf("%d/%d", price.In, price.Out)
	})
}

// tendSpend closes what crashes left open and says so, loudly, when sums are not those of the ledger.
func (in *App) tendSpend(ctx context.Context, log *slog.Logger) error {
	differences, err := in.Spending.Tend(ctx)
	for _, d := range differences {
		log.ErrorContext(ctx, "a sum of what was spent is not that of its rows; see: carrel admin spend check",
			"of", d.Of, "id", d.ID, "month", d.Month, "spent", d.Spent, "rows", d.RowsSpent, "reserved", d.Reserved, "rowsReserved", d.RowsReserved)
	}
	return err
}
