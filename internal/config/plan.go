package config

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/core"
)

// Plan is a [plan.NAME] section of the settings file. Money is in millionths of a dollar; nil means no limit.
type Plan struct {
	Name string
	// Capabilities and Models are not validated here.
	Capabilities, Models               []string
	SpendCap, TurnCap                  *int64
	RateLimit, RateBurst, StorageLimit *int64
	Price                              int64
	StripePrice                        string
}

// planTable describes the settings of a plan.
var planTable = []struct {
	name string
	bind func(*Plan) flag.Value
}{
	{"capabilities", func(p *Plan) flag.Value { return (*words)(&p.Capabilities) }},
	{"models", func(p *Plan) flag.Value { return (*modelNames)(&p.Models) }},
	{"spend-cap", func(p *Plan) flag.Value { return limit{&p.SpendCap, dollarsLimit} }},
	{"turn-cap", func(p *Plan) flag.Value { return limit{&p.TurnCap, dollarsLimit} }},
	{"rate-limit", func(p *Plan) flag.Value { return limit{&p.RateLimit, numberLimit} }},
	{"rate-burst", func(p *Plan) flag.Value { return limit{&p.RateBurst, numberLimit} }},
	{"storage-limit", func(p *Plan) flag.Value { return limit{&p.StorageLimit, numberLimit} }},
	{"price", func(p *Plan) flag.Value { return (*amount)(&p.Price) }},
	{"stripe-price", func(p *Plan) flag.Value { return checked{&p.StripePrice, checkAPIKeyList} }},
}

func planNames() []string {
	out := make([]string, len(planTable))
	for i, row := range planTable {
		out[i] = row.name
	}
	return out
}

// String returns the settings of the plan.
func (p Plan) String() string {
	var out []string
	for _, row := range planTable {
		if s := row.bind(&p).String(); s != "" {
			out = append(out, row.name+"="+s)
		}
	}
	return strings.Join(out, " ")
}

// parsePlans parses the sections of a settings file, which are all plans.
func parsePlans(path string, sections []section, probs *Problems) []Plan {
	var plans []Plan
	for _, s := range sections {
		name, ok := strings.CutPrefix(s.heading, "plan.")
		switch {
		case !ok || checkPlanName(name) != nil || name == core.PlanNone:
			probs.add("%s line %d: a heading must be [plan.NAME]; NAME has 1 to 50 of a-z, 0-9, _ and -, and is not none", path,
				s.line)
			continue
		case slices.ContainsFunc(plans, func(p Plan) bool { return p.Name == name }):
			probs.add("%s line %d: the plan %s is declared twice; remove one", path, s.line, name)
			continue
		}
		p := Plan{Name: name}
		for _, row := range planTable {
			value, set := s.values[row.name]
			if !set {
				continue
			}
			if err := row.bind(&p).Set(value); err != nil {
				probs.add("%s: %s of the plan %s %v", path, row.name, name, err)
			}
		}
		if _, set := s.values["capabilities"]; !set {
			probs.add("%s: capabilities of the plan %s are missing; list them, or set all, or an empty value for none", path,
				name)
		}
		plans = append(plans, p)
	}
	return plans
}

func checkPlanName(s string) error {
	if !core.ValidPlanName(s) {
		return errors.New("must be the name of a plan, or none")
	}
	return nil
}

// checkAPIKeyList accepts ids that are separated by commas and spaces.
func checkAPIKeyList(s string) error {
	if checkAPIKey(strings.ReplaceAll(s, " ", "")) != nil {
		return errors.New("must be a comma-separated list of Stripe price ids")
	}
	return nil
}

type words []string

func (v *words) String() string { return strings.Join(*v, ",") }

func (v *words) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*v = append(*v, part)
		}
	}
	return nil
}

// unit is the notation of a limit.
type unit struct {
	parse  func(string) (int64, bool)
	format func(int64) string
	must   string
}

var (
	dollarsLimit = unit{parseDollars, formatMoney, "must be US dollars, such as 5 or 0.50, or none"}
	numberLimit  = unit{
		func(s string) (int64, bool) { n, err := strconv.ParseInt(s, 10, 64); return n, err == nil && n >= 0 },
		func(n int64) string { return strconv.FormatInt(n, 10) }, "must be a whole number, or none",
	}
)

// limit is an optional number; "none" means no limit.
type limit struct {
	to **int64
	unit
}

func (v limit) String() string {
	if *v.to == nil {
		return ""
	}
	return v.format(**v.to)
}

func (v limit) Set(s string) error {
	if *v.to = nil; s == "none" {
		return nil
	}
	n, ok := v.parse(s)
	if !ok {
		return errors.New(v.must)
	}
	*v.to = &n
	return nil
}

type amount int64

func (v *amount) String() string { return formatMoney(int64(*v)) }

func (v *amount) Set(s string) error {
	n, ok := parseDollars(s)
	if !ok {
		return fmt.Errorf("must be US dollars, such as 9 or 9.50")
	}
	*v = amount(n)
	return nil
}
