package app

import (
	"context"
	"strconv"
	"strings"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
)

type planCommands struct {
	List   planList   `cmd:"" help:"List plans."`
	Put    planPut    `cmd:"" help:"Make a plan, or change the one of that name for all who have it."`
	Delete planDelete `cmd:"" help:"Delete a plan that nobody has."`
	Set    planSet    `cmd:"" help:"Give an account a plan for good, or none."`
}

type planList struct {
	JSON bool `help:"Print one JSON object: {\"plans\":[…]}."`
}

// Run lists plans.
func (c planList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		plans, err := a.billing.Plans.List(ctx, core.Operator(""))
		if err != nil {
			return err
		}
		if c.JSON {
			list := make([]map[string]any, len(plans))
			for i, p := range plans {
				list[i] = planJSON(p)
			}
			return a.print(true, map[string]any{"plans": list}, "")
		}
		rows := make([][]string, len(plans))
		for i, p := range plans {
			rows[i] = []string{
				p.Name, orDash(joined(p.Capabilities)), orDash(strings.Join(p.Models, ",")), usdOr(p.SpendCap), usdOr(p.TurnCap),
				numberOr(p.RateLimit), numberOr(p.StorageLimit), core.USD(p.Price),
			}
		}
		return a.table("NAME\tCAPABILITIES\tMODELS\tCAP A MONTH\tCAP A TURN\tREQUESTS/S\tSTORAGE\tPRICE", rows)
	})
}

func planJSON(p billing.Plan) map[string]any {
	out := map[string]any{"name": p.Name, "capabilities": p.Capabilities, "models": p.Models, "priceMicros": p.Price}
	for name, n := range map[string]*int64{
		"spendCapMicros": p.SpendCap, "turnCapMicros": p.TurnCap, "rateLimit": p.RateLimit, "rateBurst": p.RateBurst, "storageLimitBytes": p.StorageLimit,
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
	Capabilities []string `required:"" placeholder:"WORD,…" help:"What it includes, of search, chat, research, memories, favourites, manage and mcp; or all."`
	Models       []string `placeholder:"MODEL,…" help:"The only models it may ask. Default: all of the installation."`
	SpendCap     string   `name:"spend-cap" default:"none" placeholder:"USD" help:"US dollars a month. Default: none."`
	TurnCap      string   `name:"turn-cap" default:"none" placeholder:"USD" help:"US dollars a turn. Default: none."`
	RateLimit    *int64   `name:"rate-limit" placeholder:"N" help:"Requests a second of all credentials of an account together. Default: the server's limits alone."`
	RateBurst    *int64   `name:"rate-burst" placeholder:"N" help:"Requests at once. Default: four seconds' worth."`
	StorageLimit *int64   `name:"storage-limit" placeholder:"BYTES" help:"Bytes of documents. Default: no limit."`
	Price        string   `default:"0" placeholder:"USD" help:"What a month costs, for people to see."`
	StripePrice  string   `name:"stripe-price" placeholder:"ID" help:"Id of the price at Stripe that pays for it. Further ones after commas are no longer sold, but still pay for it."`
	JSON         bool     `help:"Print one JSON object: {\"plan\":{…}}."`
}

// Run makes or changes a plan.
func (c planPut) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	p := billing.Plan{
		Name: c.Name, Capabilities: capabilities(c.Capabilities), Models: c.Models, RateLimit: c.RateLimit, RateBurst: c.RateBurst,
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
		p, err := a.billing.Plans.Put(ctx, core.Operator(""), p)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"plan": planJSON(p)}, "The plan %s includes %s.", p.Name, orDash(joined(p.Capabilities)))
	})
}

type planDelete struct {
	Name string `arg:"" help:"Name of the plan."`
	JSON bool   `help:"Print one JSON object."`
}

// Run deletes a plan.
func (c planDelete) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		if err := a.billing.Plans.Delete(ctx, core.Operator(""), c.Name); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"deleted": true}, "Deleted the plan %s.", c.Name)
	})
}

type planSet struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	Plan string `required:"" placeholder:"NAME" help:"Plan, or none for no subscription."`
	JSON bool   `help:"Print one JSON object."`
}

// Run sets a plan.
func (c planSet) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		if err := a.billing.Plans.Assign(ctx, core.Operator(""), u.ID, c.Plan); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"user": map[string]any{"id": u.ID, "plan": c.Plan}}, "%s is now on the plan %s.", u.Email, c.Plan)
	})
}

type subscriptionCommands struct {
	Show   subscriptionShow   `cmd:"" help:"Show what an account has."`
	Set    subscriptionSet    `cmd:"" help:"Give an account a plan for a time."`
	Cancel subscriptionCancel `cmd:"" help:"End a subscription: at the end of its period, or now."`
}

type subscriptionShow struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	JSON bool   `help:"Print one JSON object: {\"plan\":…,\"subscription\":{…}}."`
}

// Run shows what an account has.
func (c subscriptionShow) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		e, err := a.billing.Plans.Of(ctx, core.Operator(""), u.ID)
		if err != nil {
			return err
		}
		plan := core.PlanNone
		if p := e.Now(a.clock.Now()); p != nil {
			plan = p.Name
		}
		if e.Subscription == nil {
			return a.print(c.JSON, map[string]any{"plan": plan}, "%s has the plan %s for good.", u.Email, plan)
		}
		s := *e.Subscription
		return a.print(c.JSON, map[string]any{"plan": plan, "subscription": subscriptionJSON(s)},
			"%s has the plan %s now. Its subscription to %s is %s, from %s to %s.", u.Email, plan, s.Plan, s.Status, date(s.StartsAt), dateOr(s.EndsAt, "whenever it is ended"))
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
	User   string     `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	Plan   string     `required:"" placeholder:"NAME" help:"The plan."`
	Start  *time.Time `placeholder:"TIME" help:"When it starts (RFC 3339). Default: now."`
	End    *time.Time `placeholder:"TIME" help:"When it ends (RFC 3339). Default: it goes on."`
	Months int        `placeholder:"N" help:"How many months it runs, in place of --end."`
	Grace  int        `name:"grace-days" placeholder:"N" help:"For how many days it is served after its end."`
	Trial  bool       `help:"It is a trial."`
	Last   bool       `name:"cancel-at-end" help:"It will not be renewed."`
	JSON   bool       `help:"Print one JSON object: {\"subscription\":{…}}."`
}

// Run gives an account a plan for a time.
func (c subscriptionSet) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		n := billing.NewSubscription{
			Plan: c.Plan, StartsAt: c.Start, EndsAt: c.End, Grace: time.Duration(c.Grace) * 24 * time.Hour, Trial: c.Trial, CancelAtEnd: c.Last,
		}
		if c.Months > 0 {
			from := a.clock.Now()
			if c.Start != nil {
				from = *c.Start
			}
			end := core.AddMonths(from, c.Months)
			n.EndsAt = &end
		}
		s, err := a.billing.Plans.Subscribe(ctx, core.Operator(""), u.ID, n)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"subscription": subscriptionJSON(s)}, "%s has the plan %s from %s to %s.",
			u.Email, s.Plan, date(s.StartsAt), dateOr(s.EndsAt, "whenever it is ended"))
	})
}

type subscriptionCancel struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	Now  bool   `help:"End it now, not at the end of its period."`
	JSON bool   `help:"Print one JSON object: {\"subscription\":{…}}."`
}

// Run ends a subscription.
func (c subscriptionCancel) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		s, err := a.billing.Plans.Cancel(ctx, core.Operator(""), u.ID, c.Now)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"subscription": subscriptionJSON(s)}, "The subscription of %s is cancelled.", u.Email)
	})
}
