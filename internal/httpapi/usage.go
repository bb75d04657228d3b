package httpapi

import (
	"bytes"
	"context"
	"net/http"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// GetUsage answers GET /api/account/usage.
func (h handlers) GetUsage(ctx context.Context, p oas.GetUsageParams) (*oas.UsageReply, error) {
	r, err := h.Billing.Usage.Own(ctx, actor(ctx), billing.UsageQuery{
		From: p.From.Value, To: p.To.Value, By: billing.UsageBy(p.By.Value),
	})
	return usageReply(r, err, true)
}

// GetAllUsage answers GET /api/admin/usage.
func (h handlers) GetAllUsage(ctx context.Context, p oas.GetAllUsageParams) (*oas.UsageReply, error) {
	r, err := h.Billing.Usage.Of(ctx, actor(ctx), p.UserId.Value, billing.UsageQuery{
		From: p.From.Value, To: p.To.Value, By: billing.UsageBy(p.By.Or(oas.UsageGroupingDay)),
	})
	return usageReply(r, err, p.UserId.Value != "")
}

// usageReply converts a usage report. It includes the spend of a single account, not of all accounts together.
func usageReply(r billing.UsageReport, err error, ofOne bool) (*oas.UsageReply, error) {
	if err != nil {
		return nil, err
	}
	out := &oas.UsageReply{
		From: r.From, To: r.To, By: oas.UsageGrouping(r.By), Usage: make([]oas.UsageRow, len(r.Rows)), Searches: r.Searches,
	}
	for i, u := range r.Rows {
		out.Usage[i] = oas.UsageRow{
			Name: u.Name, Calls: u.Calls, SpentMicros: u.Spent, EstimatedMicros: u.Estimated, ReservedMicros: u.Reserved,
		}
	}
	if ofOne {
		out.Spend = oas.NewOptSpend(spendOf(r.Spend))
	}
	return out, nil
}

// spendOf converts the used and available spend.
func spendOf(s core.Spend) oas.Spend {
	out := oas.Spend{UsedMicros: s.Used, ResetsAt: timestamp(s.ResetsAt)}
	if s.Capped {
		out.CapMicros, out.LeftMicros = oas.NewOptInt64(s.Cap), oas.NewOptInt64(max(0, s.Cap-s.Used))
	}
	return out
}

// serveUsageExport answers GET /api/account/usage/export.
func (a *API) serveUsageExport(w http.ResponseWriter, r *http.Request) {
	a.serveFile(w, r, core.OpExportUsage, func(ctx context.Context) (*File, error) {
		query := r.URL.Query()
		var content bytes.Buffer
		err := a.Billing.Usage.WriteOwnCSV(ctx, actor(ctx),
			billing.UsageQuery{From: query.Get("from"), To: query.Get("to")}, &content)
		if err != nil {
			return nil, err
		}
		return &File{ContentType: "text/csv; charset=utf-8", Name: "usage.csv", Content: content.Bytes()}, nil
	})
}

// CheckSpend answers GET /api/admin/spend-check.
func (h handlers) CheckSpend(ctx context.Context) (*oas.SpendCheck, error) {
	differences, err := h.Billing.Spending.Check(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.SpendCheck{Differences: make([]oas.SpendDifference, len(differences))}
	for i, d := range differences {
		out.Differences[i] = oas.SpendDifference{
			Of: oas.SpendDifferenceOf(d.Of), ID: d.ID, Month: d.Month, ReservedMicros: d.Reserved, SpentMicros: d.Spent,
			RowsReservedMicros: d.RowsReserved, RowsSpentMicros: d.RowsSpent,
		}
	}
	return out, nil
}
