package store

import (
	"context"

	"carrel/internal/billing"
)

var _ billing.UsageStore = (*DB)(nil)

// usageColumn maps a grouping to its column of the ledger.
var usageColumn = map[billing.UsageBy]string{
	billing.UsageByDay: "day", billing.UsageByAgent: "agent_id", billing.UsageByCredential: "credential_id",
	billing.UsageByModel: "model", billing.UsageByUser: "user_id",
}

const usageSums = `sum(calls), sum(micros), sum(CASE WHEN estimated = 1 THEN micros ELSE 0 END),
	sum(CASE WHEN state = 'reserved' THEN reserved ELSE 0 END)`

func usageDest(u *billing.Usage) []any { return []any{&u.Calls, &u.Spent, &u.Estimated, &u.Reserved} }

// usageOf returns the condition and parameters for the ledger rows of a user, or of all users, in a range of days.
func usageOf(userID, from, to string) (string, args) {
	if userID == "" {
		return `day BETWEEN $1 AND $2`, args{from, to}
	}
	return `user_id = $1 AND day BETWEEN $2 AND $3`, args{userID, from, to}
}

// UsageBy sums the ledger, grouped by one column.
func (db *DB) UsageBy(
	ctx context.Context, userID string, by billing.UsageBy, from, to string,
) ([]billing.Usage, error) {
	column := usageColumn[by]
	condition, a := usageOf(userID, from, to)
	var u billing.Usage
	rows := []billing.Usage{}
	err := db.read.each(ctx, `
		SELECT `+column+`, `+usageSums+` FROM spend_row WHERE `+condition+` GROUP BY `+column+` ORDER BY `+column,
		a, append([]any{&u.Name}, usageDest(&u)...), func() error {
			rows = append(rows, u)
			return nil
		})
	if err != nil {
		return nil, fail("sum usage", "user", err)
	}
	return rows, nil
}

// UsageLines sums the ledger, grouped by all columns.
func (db *DB) UsageLines(ctx context.Context, userID, from, to string) ([]billing.UsageLine, error) {
	condition, a := usageOf(userID, from, to)
	var l billing.UsageLine
	lines := []billing.UsageLine{}
	err := db.read.each(ctx, `
		SELECT day, agent_id, credential_id, kind, model, `+usageSums+` FROM spend_row WHERE `+condition+`
		GROUP BY day, agent_id, credential_id, kind, model ORDER BY day, agent_id, credential_id, kind, model`,
		a, append([]any{&l.Day, &l.AgentID, &l.CredentialID, (*string)(&l.Kind), &l.Model},
			usageDest(&l.Usage)...), func() error {
			lines = append(lines, l)
			return nil
		})
	if err != nil {
		return nil, fail("list usage", "user", err)
	}
	return lines, nil
}

// SearchesBetween returns the search count of a user, or of all users, in a range of days.
func (db *DB) SearchesBetween(ctx context.Context, userID, from, to string) (n int64, err error) {
	condition, a := usageOf(userID, from, to)
	err = get(ctx, db.read,
		`SELECT coalesce(sum(count), 0) FROM usage_day WHERE `+condition+` AND kind = '`+kindSearch+`'`, a, &n)
	return n, fail("count searches", "user", err)
}
