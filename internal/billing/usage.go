package billing

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"carrel/internal/core"
)

// UsageBy is the dimension usage is grouped by.
type UsageBy string

// The dimensions. UsageByUser is for administrators only.
const (
	UsageByDay        UsageBy = "day"
	UsageByAgent      UsageBy = "agent"
	UsageByCredential UsageBy = "credential"
	UsageByModel      UsageBy = "model"
	UsageByUser       UsageBy = "user"
)

// Usage is the usage of one group. Name is a day or the id of an agent, credential, model or user; empty for usage
// without one. Amounts are in micro-dollars.
type Usage struct {
	Name  string
	Calls int64
	// Spent is the total cost, Estimated the part of it not confirmed by the provider. Reserved is the maximum cost of
	// running calls.
	Spent, Estimated, Reserved int64
}

// UsageLine is usage grouped by all dimensions, a row of the CSV export.
type UsageLine struct {
	Day, AgentID, CredentialID, Model string
	Kind                              Metered
	Usage
}

// UsageStore reads the ledger. Days have the format of core.Day; to is inclusive. An empty userID selects all users.
type UsageStore interface {
	UsageBy(ctx context.Context, userID string, by UsageBy, from, to string) ([]Usage, error)
	UsageLines(ctx context.Context, userID, from, to string) ([]UsageLine, error)
	// SearchesBetween returns the number of searches.
	SearchesBetween(ctx context.Context, userID, from, to string) (int64, error)
}

// UsageReports reports usage to users and administrators.
type UsageReports struct {
	store    UsageStore
	spending *Spending
	clock    core.Clock
}

// UsageQuery selects days and grouping. The default is the current month by day.
type UsageQuery struct {
	From, To string
	By       UsageBy
}

// UsageReport is the usage in a range of days, with cap and spend of the current month.
type UsageReport struct {
	From, To string
	By       UsageBy
	Rows     []Usage
	Searches int64
	Spend    core.Spend
}

// maxUsageDays limits the range of one report.
const maxUsageDays = 366

// Own returns the usage of the actor's account.
func (u *UsageReports) Own(ctx context.Context, actor core.Actor, q UsageQuery) (UsageReport, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return UsageReport{}, err
	}
	if q.By == UsageByUser {
		return UsageReport{}, badUsageBy()
	}
	return u.report(ctx, actor.UserID, q)
}

// Of returns the usage of an account, or of all accounts if userID is empty, to an administrator.
func (u *UsageReports) Of(ctx context.Context, actor core.Actor, userID string, q UsageQuery) (UsageReport, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return UsageReport{}, err
	}
	return u.report(ctx, userID, q)
}

func (u *UsageReports) report(ctx context.Context, userID string, q UsageQuery) (UsageReport, error) {
	q, err := q.normalize(u.clock.Now())
	if err != nil {
		return UsageReport{}, err
	}
	r := UsageReport{From: q.From, To: q.To, By: q.By}
	if userID != "" {
		if r.Spend, err = u.spending.Spend(ctx, userID); err != nil {
			return UsageReport{}, err
		}
	}
	if r.Rows, err = u.store.UsageBy(ctx, userID, q.By, q.From, q.To); err != nil {
		return UsageReport{}, err
	}
	r.Searches, err = u.store.SearchesBetween(ctx, userID, q.From, q.To)
	return r, err
}

func badUsageBy() error {
	return core.InvalidField("by", "Must be day, agent, credential or model.")
}

// normalize fills in the defaults and validates the query.
func (q UsageQuery) normalize(now time.Time) (UsageQuery, error) {
	if q.By == "" {
		q.By = UsageByDay
	}
	switch q.By {
	case UsageByDay, UsageByAgent, UsageByCredential, UsageByModel, UsageByUser:
	default:
		return q, badUsageBy()
	}
	if q.To == "" {
		q.To = core.Day(now)
	}
	to, err := time.Parse(time.DateOnly, q.To)
	if err != nil {
		return q, core.InvalidField("to", "Must be a day such as 2026-11-30.")
	}
	if q.From == "" {
		q.From = core.Month(to) + "-01"
	}
	from, err := time.Parse(time.DateOnly, q.From)
	if err != nil {
		return q, core.InvalidField("from", "Must be a day such as 2026-11-01.")
	}
	if days := to.Sub(from).Hours()/24 + 1; days < 1 || days > maxUsageDays {
		return q, core.InvalidField("from", "Must not be after the last day, and at most a year before it.")
	}
	return q, nil
}

// WriteOwnCSV writes the usage of the actor's account as CSV, grouped by all dimensions.
func (u *UsageReports) WriteOwnCSV(ctx context.Context, actor core.Actor, q UsageQuery, w io.Writer) error {
	if err := actor.Allow(core.OpBilling); err != nil {
		return err
	}
	q, err := q.normalize(u.clock.Now())
	if err != nil {
		return err
	}
	lines, err := u.store.UsageLines(ctx, actor.UserID, q.From, q.To)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	_ = out.Write([]string{ // out.Error reports failures
		"day", "agent", "credential", "kind", "model", "calls", "spent_usd", "estimated_usd", "reserved_usd",
	})
	for _, l := range lines {
		_ = out.Write([]string{
			l.Day, l.AgentID, l.CredentialID, string(l.Kind), cell(l.Model), strconv.FormatInt(l.Calls, 10),
			dollars(l.Spent), dollars(l.Estimated), dollars(l.Reserved),
		})
	}
	out.Flush()
	return out.Error()
}

// dollars formats micro-dollars without rounding.
func dollars(micros int64) string { return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6) }

// cell quotes a value that a spreadsheet would evaluate as a formula.
func cell(s string) string {
	if s != "" && (s[0] == '=' || s[0] == '+' || s[0] == '-' || s[0] == '@') {
		return "'" + s
	}
	return s
}
