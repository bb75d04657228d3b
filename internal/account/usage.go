package account

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"carrel/internal/core"
)

// UsageBy is what usage is told apart by.
type UsageBy string

// What usage can be told apart by. By user is for admins.
const (
	UsageByDay        UsageBy = "day"
	UsageByAgent      UsageBy = "agent"
	UsageByCredential UsageBy = "credential"
	UsageByModel      UsageBy = "model"
	UsageByUser       UsageBy = "user"
)

// Usage is what was used under a name: a day, or the id of an agent, a credential, a model or a user; empty for what
// belongs to none. Money is in micro-dollars.
type Usage struct {
	Name  string
	Calls int64
	// Spent is all that was spent; Estimated the part of it that nobody has confirmed. Reserved is what calls that are
	// under way may come to.
	Spent, Estimated, Reserved int64
}

// UsageLine is usage told apart by everything, as it is exported.
type UsageLine struct {
	Day, AgentID, CredentialID, Model string
	Kind                              Metered
	Usage
}

// UsageStore reads the ledger. Days are as core.Day has them, the last one included; an empty user means all.
type UsageStore interface {
	UsageBy(ctx context.Context, userID string, by UsageBy, from, to string) ([]Usage, error)
	UsageLines(ctx context.Context, userID, from, to string) ([]UsageLine, error)
	// SearchesBetween returns how often a user searched.
	SearchesBetween(ctx context.Context, userID, from, to string) (int64, error)
}

// Usages is where people see what they have used.
type Usages struct {
	store    UsageStore
	spending *Spending
	clock    core.Clock
}

// NewUsages returns usages on this store.
func NewUsages(store UsageStore, spending *Spending, clock core.Clock) *Usages {
	return &Usages{store: store, spending: spending, clock: clock}
}

// UsageQuery is what to show. Without days it is this month.
type UsageQuery struct {
	From, To string
	By       UsageBy
}

// UsageReport is what was used in a span of days, and what is left of this month's cap.
type UsageReport struct {
	From, To string
	By       UsageBy
	Rows     []Usage
	Searches int64
	Spend    core.Spend
}

// maxUsageDays bounds what is added up at once.
const maxUsageDays = 366

// Own returns what the actor has used.
func (u *Usages) Own(ctx context.Context, actor core.Actor, q UsageQuery) (UsageReport, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return UsageReport{}, err
	}
	if q.By == UsageByUser {
		return UsageReport{}, badUsageBy()
	}
	return u.report(ctx, actor.UserID, q)
}

// Of returns what an account has used, or, without one, all of them together.
func (u *Usages) Of(ctx context.Context, actor core.Actor, userID string, q UsageQuery) (UsageReport, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return UsageReport{}, err
	}
	return u.report(ctx, userID, q)
}

func (u *Usages) report(ctx context.Context, userID string, q UsageQuery) (UsageReport, error) {
	q, err := q.tidy(u.clock.Now())
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

// tidy fills in what is left out, and checks the rest.
func (q UsageQuery) tidy(now time.Time) (UsageQuery, error) {
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
		return q, core.InvalidField("from", "Must be a day up to a year before the last one.")
	}
	return q, nil
}

// WriteOwnCSV writes what the actor has used, told apart by everything.
func (u *Usages) WriteOwnCSV(ctx context.Context, actor core.Actor, q UsageQuery, w io.Writer) error {
	if err := actor.Allow(core.OpBilling); err != nil {
		return err
	}
	q, err := q.tidy(u.clock.Now())
	if err != nil {
		return err
	}
	lines, err := u.store.UsageLines(ctx, actor.UserID, q.From, q.To)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	_ = out.Write([]string{"day", "agent", "credential", "kind", "model", "calls", "spent_usd", "estimated_usd", "reserved_usd"}) // Error tells
	for _, l := range lines {
		_ = out.Write([]string{
			l.Day, l.AgentID, l.CredentialID, string(l.Kind), cell(l.Model), strconv.FormatInt(l.Calls, 10),
			dollars(l.Spent), dollars(l.Estimated), dollars(l.Reserved),
		})
	}
	out.Flush()
	return out.Error()
}

// dollars renders micro-dollars exactly.
func dollars(micros int64) string { return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6) }

// cell keeps a spreadsheet from taking a name for a formula.
func cell(s string) string {
	if s != "" && (s[0] == '=' || s[0] == '+' || s[0] == '-' || s[0] == '@') {
		return "'" + s
	}
	return s
}
