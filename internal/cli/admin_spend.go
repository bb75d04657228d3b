package cli

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"carrel/internal/account"
	"carrel/internal/billing"
	"carrel/internal/core"
)

type spendCommands struct {
	Set   spendSet   `cmd:"" help:"Set the monthly spend cap of an account or of one of its credentials."`
	Check spendCheck `cmd:"" help:"Compare the stored sums with the ledger."`
}

type spendSet struct {
	userFlag
	Credential string `placeholder:"ID" help:"Only for this key or connection of the account."`
	Cap        string `required:"" placeholder:"USD" help:"US dollars per month, such as 12.50; none removes the cap."`
	JSON       bool   `help:"Print one JSON object."`
}

// Run sets a spend cap.
func (c spendSet) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	micros, err := parseCap(c.Cap)
	if err != nil {
		return err
	}
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		if c.Credential != "" {
			if err := a.Billing.Plans.CapCredential(ctx, core.Operator(u.ID), c.Credential, micros); err != nil {
				return err
			}
			return a.print(c.JSON, map[string]any{"credential": map[string]any{"id": c.Credential, "spendCapMicros": micros}},
				"The cap of %s is %s per month.", c.Credential, usdOr(micros))
		}
		if err := a.Accounts.SetSpendCap(ctx, core.Operator(""), u.ID, micros); err != nil {
			return err
		}
		u.SpendCap = micros
		if micros == nil {
			return a.print(c.JSON, map[string]any{"user": userJSON(u)}, "%s no longer has its own spend cap.", u.Email)
		}
		return a.print(c.JSON, map[string]any{"user": userJSON(u)}, "%s may spend %s per month.", u.Email, core.USD(*micros))
	})
}

type spendCheck struct {
	JSON bool `help:"Print one JSON object: {\"differences\":[…]}."`
}

// Run compares the stored sums with the ledger and fails if one differs.
func (c spendCheck) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		differences, err := a.Billing.Spending.Check(ctx, core.Operator(""))
		if err != nil {
			return err
		}
		list := make([]map[string]any, len(differences))
		for i, d := range differences {
			list[i] = map[string]any{
				"of": d.Of, "id": d.ID, "month": d.Month, "reservedMicros": d.Reserved, "spentMicros": d.Spent,
				"rowsReservedMicros": d.RowsReserved, "rowsSpentMicros": d.RowsSpent,
			}
		}
		if err := a.print(c.JSON, map[string]any{"differences": list}, "%d sums differ from the ledger.",
			len(list)); err != nil || len(list) == 0 {
			return err
		}
		if !c.JSON {
			if err := a.table("OF\tID\tMONTH\tRESERVED\tSPENT\tROWS RESERVED\tROWS SPENT",
				differenceRows(differences)); err != nil {
				return err
			}
		}
		return fmt.Errorf("%d sums differ from the ledger", len(list))
	})
}

func differenceRows(differences []billing.SpendDifference) [][]string {
	rows := make([][]string, len(differences))
	for i, d := range differences {
		rows[i] = []string{d.Of, d.ID, d.Month}
		for _, n := range []int64{d.Reserved, d.Spent, d.RowsReserved, d.RowsSpent} {
			rows[i] = append(rows[i], strconv.FormatInt(n, 10))
		}
	}
	return rows
}

type usageCommands struct {
	Show usageShow `cmd:"" help:"Show the usage of one account or of all accounts."`
}

type usageShow struct {
	User string `aliases:"email" placeholder:"EMAIL" help:"The account. Default: all."`
	By   string `enum:"day,agent,credential,model,user" default:"day" help:"day, agent, credential, model or user. Default: day."`
	From string `placeholder:"DAY" help:"First day, such as 2026-11-01. Default: the first day of the month of --to."`
	To   string `placeholder:"DAY" help:"Last day. Default: today."`
	JSON bool   `help:"Print one JSON object: {\"usage\":[…]}."`
}

// Run shows usage.
func (c usageShow) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		userID := ""
		if c.User != "" {
			u, err := a.user(ctx, c.User)
			if err != nil {
				return err
			}
			userID = u.ID
		}
		r, err := a.Billing.Usage.Of(ctx, core.Operator(""), userID,
			billing.UsageQuery{From: c.From, To: c.To, By: billing.UsageBy(c.By)})
		if err != nil {
			return err
		}
		list := make([]map[string]any, len(r.Rows))
		rows := make([][]string, len(r.Rows))
		for i, u := range r.Rows {
			list[i] = map[string]any{
				"name": u.Name, "calls": u.Calls, "spentMicros": u.Spent,
				"estimatedMicros": u.Estimated, "reservedMicros": u.Reserved,
			}
			rows[i] = []string{
				orDash(u.Name), strconv.FormatInt(u.Calls, 10), core.USD(u.Spent), core.USD(u.Estimated), core.USD(u.Reserved),
			}
		}
		if c.JSON {
			return a.print(true,
				map[string]any{"from": r.From, "to": r.To, "by": r.By, "usage": list, "searches": r.Searches}, "")
		}
		return a.table(strings.ToUpper(c.By)+"\tCALLS\tSPENT\tESTIMATED\tRESERVED", rows)
	})
}

// parseCap parses a cap; "none" is nil.
func parseCap(s string) (*int64, error) {
	if s == "none" {
		return nil, nil //nolint:nilnil // nil means no cap
	}
	n, err := parseUSD(s)
	return &n, err
}

// maxCap, in dollars, keeps sums of micro-dollars from overflowing.
const maxCap = 1e9

// parseUSD converts an amount of dollars to micro-dollars without rounding.
func parseUSD(s string) (int64, error) {
	bad := core.InvalidField("/cap",
		"Must be an amount of US dollars from 0 to 1000000000 with at most 6 decimals, or none.")
	if strings.Trim(s, "0123456789.") != "" {
		return 0, bad // big.Rat would accept signs, exponents and fractions
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || r.Cmp(big.NewRat(maxCap, 1)) > 0 {
		return 0, bad
	}
	r.Mul(r, big.NewRat(1e6, 1))
	if !r.IsInt() {
		return 0, bad
	}
	return r.Num().Int64(), nil
}
