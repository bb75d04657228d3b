package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"carrel/internal/account"
	"carrel/internal/app"
	"carrel/internal/billing"
	"carrel/internal/core"
)

type planCommands struct {
	List   planList   `cmd:"" help:"List plans."`
	Put    planPut    `cmd:"" help:"Create a plan, or change it for all its accounts."`
	Delete planDelete `cmd:"" help:"Delete a plan without accounts."`
	Set    planSet    `cmd:"" help:"Set the default plan of an account, which applies without a subscription."`
}

type planList struct {
	JSON bool `help:"Print one JSON object: {\"plans\":[…]}."`
}

// Run lists plans.
func (c planList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		plans, err := a.Billing.Plans.List(ctx, core.Operator(""))
		if err != nil {
			return err
		}
		return printList(a, c.JSON, "plans", plans, planJSON,
			"NAME\tCAPABILITIES\tMODELS\tMONTHLY CAP\tTURN CAP\tREQUESTS/S\tSTORAGE\tPRICE", func(p billing.Plan) []string {
				return []string{
					p.Name, orDash(joined(p.Capabilities)), orDash(strings.Join(p.Models, ",")), usdOr(p.SpendCap), usdOr(p.TurnCap),
					numberOr(p.RateLimit), numberOr(p.StorageLimit), core.USD(p.Price),
				}
			})
	})
}

func planJSON(p billing.Plan) map[string]any {
	out := map[string]any{"name": p.Name, "capabilities": p.Capabilities, "models": p.Models, "priceMicros": p.Price}
	for name, n := range map[string]*int64{
		"spendCapMicros": p.SpendCap, "turnCapMicros": p.TurnCap, "rateLimit": p.RateLimit, "rateBurst": p.RateBurst,
		"storageLimitBytes": p.StorageLimit,
	} {
		if n != nil {
			out[name] = *n
		}
	}
	if p.StripePrice != "" {
		out["stripePrice"] = p.StripePrice
	}
	if p.Declared {
		out["declared"] = true
	}
	return out
}

func joined[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ",")
}

func usdOr(micros *int64) string {
	if micros == nil {
		return "none"
	}
	return core.USD(*micros)
}

func numberOr(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

type planPut struct {
	Name         string   `arg:"" help:"Name of the plan."`
	Capabilities []string `required:"" placeholder:"WORD,…" help:"Capabilities: search, chat, research, memories, favourites, manage, share, mcp; or all."`
	Models       []string `placeholder:"MODEL,…" help:"Allowed models. Default: all models of the installation."`
	SpendCap     string   `name:"spend-cap" default:"none" placeholder:"USD" help:"US dollars per month. Default: none."`
	TurnCap      string   `name:"turn-cap" default:"none" placeholder:"USD" help:"US dollars per turn. Default: none."`
	RateLimit    *int64   `name:"rate-limit" placeholder:"N" help:"Requests per second of an account, over all its credentials. Default: only the server's limits."`
	RateBurst    *int64   `name:"rate-burst" placeholder:"N" help:"Burst of requests. Default: four seconds of --rate-limit."`
	StorageLimit *int64   `name:"storage-limit" placeholder:"BYTES" help:"Bytes of documents. Default: no limit."`
	Price        string   `default:"0" placeholder:"USD" help:"Monthly price shown to users."`
	StripePrice  string   `name:"stripe-price" placeholder:"ID" help:"Stripe price id. Further ids after commas are no longer sold but remain valid for existing subscriptions."`
	JSON         bool     `help:"Print one JSON object: {\"plan\":{…}}."`
}

// Run creates or changes a plan.
func (c planPut) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	p := billing.Plan{
		Name: c.Name, Capabilities: app.Capabilities(c.Capabilities), Models: c.Models,
		RateLimit: c.RateLimit, RateBurst: c.RateBurst,
		StorageLimit: c.StorageLimit, StripePrice: c.StripePrice,
	}
	var err error
	if p.SpendCap, err = parseCap(c.SpendCap); err != nil {
		return err
	}
	if p.TurnCap, err = parseCap(c.TurnCap); err != nil {
		return err
	}
	if p.Price, err = parseUSD(c.Price); err != nil {
		return err
	}
	return parent.run(ctx, env, false, func(a admin) error {
		p, err := a.Billing.Plans.Put(ctx, core.Operator(""), p)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"plan": planJSON(p)}, "Plan %s includes %s.",
			p.Name, orDash(joined(p.Capabilities)))
	})
}

type planDelete struct {
	Name string `arg:"" help:"Name of the plan."`
	JSON bool   `help:"Print one JSON object."`
}

// Run deletes a plan.
func (c planDelete) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		if err := a.Billing.Plans.Delete(ctx, core.Operator(""), c.Name); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"deleted": true}, "Deleted plan %s.", c.Name)
	})
}

type planSet struct {
	userFlag
	Plan string `required:"" placeholder:"NAME" help:"Plan, or none for no subscription."`
	JSON bool   `help:"Print one JSON object."`
}

// Run sets a plan.
func (c planSet) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		if err := a.Billing.Plans.Assign(ctx, core.Operator(""), u.ID, c.Plan); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"user": map[string]any{"id": u.ID, "plan": c.Plan}},
			"%s is now on the plan %s.", u.Email, c.Plan)
	})
}

type subscriptionCommands struct {
	Show   subscriptionShow   `cmd:"" help:"Show the plan and subscription of an account."`
	Set    subscriptionSet    `cmd:"" help:"Subscribe an account to a plan."`
	Cancel subscriptionCancel `cmd:"" help:"End a subscription at the end of its period, or now."`
}

type subscriptionShow struct {
	userFlag
	JSON bool `help:"Print one JSON object: {\"plan\":…,\"subscription\":{…}}."`
}

// Run shows the plan and subscription of an account.
func (c subscriptionShow) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		e, err := a.Billing.Plans.Of(ctx, core.Operator(""), u.ID)
		if err != nil {
			return err
		}
		plan := core.PlanNone
		if p := e.Now(a.Clock.Now()); p != nil {
			plan = p.Name
		}
		if e.Subscription == nil {
			return a.print(c.JSON, map[string]any{"plan": plan},
				"%s has the default plan %s and no subscription.", u.Email, plan)
		}
		s := *e.Subscription
		return a.print(c.JSON, map[string]any{"plan": plan, "subscription": subscriptionJSON(s)},
			"%s has the plan %s. Its subscription to %s is %s, from %s to %s.", u.Email, plan, s.Plan, s.Status,
			date(s.StartsAt), dateOr(s.EndsAt, "cancellation"))
	})
}

func subscriptionJSON(s billing.Subscription) map[string]any {
	out := map[string]any{
		"plan": s.Plan, "status": s.Status, "startsAt": date(s.StartsAt), "cancelAtEnd": s.CancelAtEnd, "source": s.Source,
	}
	if s.EndsAt != nil {
		out["endsAt"] = date(*s.EndsAt)
	}
	if s.GraceUntil != nil {
		out["graceUntil"] = date(*s.GraceUntil)
	}
	return out
}

type subscriptionSet struct {
	userFlag
	Plan   string     `required:"" placeholder:"NAME" help:"The plan."`
	Start  *time.Time `placeholder:"TIME" help:"Start (RFC 3339). Default: now."`
	End    *time.Time `placeholder:"TIME" help:"End (RFC 3339). Default: until cancelled."`
	Months int        `placeholder:"N" help:"Length in months, instead of --end."`
	Grace  int        `name:"grace-days" placeholder:"N" help:"Days of service after the end."`
	Trial  bool       `help:"Mark it as a trial."`
	Last   bool       `name:"cancel-at-end" help:"Do not renew it."`
	JSON   bool       `help:"Print one JSON object: {\"subscription\":{…}}."`
}

// Run subscribes an account to a plan.
func (c subscriptionSet) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		n := billing.NewSubscription{
			Plan: c.Plan, StartsAt: c.Start, EndsAt: c.End, Grace: time.Duration(c.Grace) * 24 * time.Hour,
			Trial: c.Trial, CancelAtEnd: c.Last,
		}
		if c.Months > 0 {
			from := a.Clock.Now()
			if c.Start != nil {
				from = *c.Start
			}
			end := core.AddMonths(from, c.Months)
			n.EndsAt = &end
		}
		s, err := a.Billing.Plans.Subscribe(ctx, core.Operator(""), u.ID, n)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"subscription": subscriptionJSON(s)}, "%s has the plan %s from %s to %s.",
			u.Email, s.Plan, date(s.StartsAt), dateOr(s.EndsAt, "cancellation"))
	})
}

type subscriptionCancel struct {
	userFlag
	Now  bool `help:"End it now instead of at the end of its period."`
	JSON bool `help:"Print one JSON object: {\"subscription\":{…}}."`
}

// Run ends a subscription.
func (c subscriptionCancel) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		s, err := a.Billing.Plans.Cancel(ctx, core.Operator(""), u.ID, c.Now)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"subscription": subscriptionJSON(s)},
			"Cancelled the subscription of %s.", u.Email)
	})
}
