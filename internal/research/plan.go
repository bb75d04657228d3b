package research

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/thread"
)

const (
	// planQueries is how many queries of a plan are used, and planTokens the limit of its length.
	planQueries = 4
	planTokens  = 600
	// planShare is the part of the turn's time that a plan may take: a quarter.
	planShare = 4
	// longestQuery is the maximum length of a query in code points.
	longestQuery = 300
)

// planSchema requires every field and allows no others, because some providers accept nothing else.
var planSchema = &model.Schema{Name: "plan", JSON: json.RawMessage(`{"type":"object","properties":{` +
	`"kinds":{"type":"array","items":{"type":"string",` +
	`"enum":["sources","conversation","transformation","action"]}},` +
	`"question":{"type":"string"},` +
	`"queries":{"type":"array","items":{"type":"object","properties":{` +
	`"query":{"type":"string"},"source":{"type":"integer"},"fromYear":{"type":"integer"},"toYear":{"type":"integer"}},` +
	`"required":["query","source","fromYear","toYear"],"additionalProperties":false}},` +
	`"answers":{"type":"array","items":{"type":"integer"}},` +
	`"actions":{"type":"array","items":{"type":"object","properties":{` +
	`"kind":{"type":"string","enum":["remember","forget","save","unsave"]},"words":{"type":"string"}},` +
	`"required":["kind","words"],"additionalProperties":false}}},` +
	`"required":["kinds","question","queries","answers","actions"],"additionalProperties":false}`)}

// plan is the parsed plan of a model. Everything in it may be missing.
type plan struct {
	kinds    []kind
	question string
	lookups  []lookup
	answers  []int
	requests []request
}

// planFirst asks the model what kind of message it is and what to search for. If the reply cannot be parsed, the plan
// has no kinds, and the message itself is searched.
func (t *turn) planFirst(ctx context.Context, g *gathered) (plan, error) {
	own := t.ownLookup()
	answer, err := t.askForPlan(ctx, g, "Planning the reply")
	if err != nil {
		return plan{}, err
	}
	g.lookups = append(g.lookups, own)
	if answer.Failure != nil {
		g.failure = answer.Failure
		return plan{lookups: []lookup{own}}, nil
	}
	t.memoriesShown, t.slow = true, answer.Expired
	p := readPlan(answer.Text, t.ready.Sources)
	g.question = p.question
	g.addLookups(p.lookups)
	// The message itself is searched as well, in case the plan is wrong.
	p.lookups = slices.Clone(g.lookups)
	return p, nil
}

// planMore asks the model what else to search for. An empty plan means that nothing more is needed.
func (t *turn) planMore(ctx context.Context, g *gathered) ([]lookup, error) {
	answer, err := t.askForPlan(ctx, g, "Searching for missing information")
	if err != nil {
		return nil, err
	}
	if answer.Failure != nil {
		g.failure = answer.Failure
		return nil, nil
	}
	return g.addLookups(readPlan(answer.Text, t.ready.Sources).lookups), nil
}

func (t *turn) askForPlan(ctx context.Context, g *gathered, label string) (modelAnswer, error) {
	return t.askWithin(ctx, "plan", label, model.Request{
		System: t.ready.system(planPrompt), Schema: planSchema, MaxTokens: planTokens, Temperature: new(float64),
		Messages: []model.Message{{Role: model.RoleUser, Text: t.planText(g)}},
	}, nil, t.limits.Time/planShare)
}

// addLookups adds the first planned lookups that are new, and returns them.
func (g *gathered) addLookups(planned []lookup) []lookup {
	fresh := slices.DeleteFunc(planned, func(l lookup) bool { return slices.ContainsFunc(g.lookups, l.same) })
	fresh = fresh[:min(len(fresh), planQueries)]
	g.lookups = append(g.lookups, fresh...)
	return fresh
}

// same reports whether two lookups are equivalent.
func (l lookup) same(other lookup) bool {
	folded := core.Fold(l.Text) == core.Fold(other.Text)
	l.Text, other.Text = "", ""
	return folded && l == other
}

// planText returns the context that the model plans from.
func (t *turn) planText(g *gathered) string {
	var b strings.Builder
	b.WriteString(t.ready.conversation())
	b.WriteString(t.ready.notes())
	b.WriteString(t.sourcesText())
	if len(g.lookups) > 0 {
		var done strings.Builder
		for _, l := range g.lookups {
			done.WriteString("searched: " + l.Text + "\n")
		}
		for _, e := range g.evidence {
			done.WriteString("found: " + clip(e.Text, 200) + "\n")
		}
		b.WriteString(t.ready.fence(`kind="searches so far"`, done.String()))
	}
	if g.part {
		b.WriteString(t.ready.fence(`kind="part of the question to work on now"`, g.question))
	}
	b.WriteString("Message: " + t.ready.defuse(t.q.Text))
	return b.String()
}

// sourcesText returns the numbered sources.
func (t *turn) sourcesText() string {
	var sources strings.Builder
	for i, s := range t.ready.Sources {
		fmt.Fprintf(&sources, "%d: %s (%s)\n", i+1, s.Name, count(s.Documents, "document"))
	}
	return t.ready.fence(`kind="sources"`, sources.String())
}

// readPlan parses a plan leniently.
func readPlan(text string, sources []knownSource) plan {
	var out plan
	var queries []plannedQuery
	for _, raw := range jsonObjects(text) {
		var p struct {
			Kinds    lenientStrings  `json:"kinds"`
			Kind     lenientStrings  `json:"kind"`
			Question string          `json:"question"`
			Queries  []plannedQuery  `json:"queries"`
			Answers  []lenientInt    `json:"answers"`
			Actions  []plannedAction `json:"actions"`
		}
		var one plannedQuery
		switch {
		case json.Unmarshal(raw, &p) == nil && (p.Question != "" || len(p.Queries)+len(p.Kinds)+len(p.Kind) > 0):
			out.addKinds(append(p.Kinds, p.Kind...))
			out.question = p.Question
			queries = append(queries, p.Queries...)
			for _, n := range p.Answers {
				out.answers = append(out.answers, int(n))
			}
			for _, a := range p.Actions {
				out.requests = append(out.requests, a.requests()...)
			}
		case json.Unmarshal(raw, &one) == nil:
			queries = append(queries, one)
		}
	}
	for _, q := range queries {
		if l, ok := q.lookup(sources); ok && !slices.ContainsFunc(out.lookups, l.same) {
			out.lookups = append(out.lookups, l)
		}
	}
	out.question = clip(strings.Join(strings.Fields(out.question), " "), longestQuery)
	return out
}

// addKinds adds the kinds that a model names, which need not be spelt exactly.
func (p *plan) addKinds(names []string) {
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		for _, k := range allKinds {
			known := len(name) >= 4 && (strings.HasPrefix(name, string(k)) || strings.HasPrefix(string(k), name))
			if known && !slices.Contains(p.kinds, k) {
				p.kinds = append(p.kinds, k)
			}
		}
	}
}

// lenientStrings is a list of strings or a single string; anything else is empty.
type lenientStrings []string

// UnmarshalJSON never fails.
func (l *lenientStrings) UnmarshalJSON(b []byte) error {
	var one string
	var list []any
	switch {
	case json.Unmarshal(b, &one) == nil && one != "":
		*l = strings.FieldsFunc(one, func(r rune) bool { return r == ',' || r == ' ' || r == '|' || r == '+' })
	case json.Unmarshal(b, &list) == nil:
		for _, v := range list {
			if s, ok := v.(string); ok {
				*l = append(*l, s)
			}
		}
	}
	return nil
}

// plannedAction is an action of a plan.
type plannedAction struct {
	Kind  string `json:"kind"`
	Words string `json:"words"`
}

// UnmarshalJSON never fails.
func (a *plannedAction) UnmarshalJSON(b []byte) error {
	var o struct {
		Kind  string `json:"kind"`
		Words string `json:"words"`
	}
	if json.Unmarshal(b, &o) == nil {
		a.Kind, a.Words = o.Kind, o.Words
	}
	return nil
}

var plannedKinds = map[string]thread.ActionKind{
	"remember": thread.ActionRemember, "forget": thread.ActionForget,
	"save": thread.ActionSave, "unsave": thread.ActionUnsave,
}

// requests returns the action, or nothing if it is not a known one.
func (a plannedAction) requests() []request {
	k, ok := plannedKinds[strings.ToLower(strings.TrimSpace(a.Kind))]
	if !ok {
		return nil
	}
	return []request{{k, strings.TrimSpace(a.Words)}}
}

// plannedQuery is a query of a plan. Models write numbers as strings, or a string instead of the object.
type plannedQuery struct {
	Query            string
	Source           lenientInt
	FromYear, ToYear lenientInt
}

// UnmarshalJSON accepts an object or a string.
func (q *plannedQuery) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, &q.Query)
	}
	var o struct {
		Query    string     `json:"query"`
		Source   lenientInt `json:"source"`
		FromYear lenientInt `json:"fromYear"`
		ToYear   lenientInt `json:"toYear"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	*q = plannedQuery{o.Query, o.Source, o.FromYear, o.ToYear}
	return nil
}

// lookup converts a planned query, and drops invalid sources and years.
func (q plannedQuery) lookup(sources []knownSource) (lookup, bool) {
	l := lookup{Text: clip(strings.Join(strings.Fields(strings.ReplaceAll(q.Query, "\x00", " ")), " "), longestQuery)}
	if n := int(q.Source); n >= 1 && n <= len(sources) {
		l.Source = sources[n-1].ID
	}
	year := func(n lenientInt) int {
		if n < 1 || n > 9999 {
			return 0
		}
		return int(n)
	}
	l.FromYear, l.ToYear = year(q.FromYear), year(q.ToYear)
	if l.FromYear != 0 && l.ToYear != 0 && l.FromYear > l.ToYear {
		l.FromYear, l.ToYear = l.ToYear, l.FromYear
	}
	return l, l.Text != ""
}

// lenientInt is an integer in any form that models write; anything else is 0.
type lenientInt int

// UnmarshalJSON never fails.
func (n *lenientInt) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err == nil && f > -1e9 && f < 1e9 {
		*n = lenientInt(f)
	}
	return nil
}

// maxUnreadable limits how many unmatched braces are tried.
const maxUnreadable = 25

// jsonObjects returns the JSON objects in a reply. Models wrap them in code fences or sentences, or break off within
// the outer object.
func jsonObjects(text string) []json.RawMessage {
	var out []json.RawMessage
	for tries := 0; tries < maxUnreadable; {
		from := strings.IndexByte(text, '{')
		if from < 0 {
			break
		}
		text = text[from:]
		d := json.NewDecoder(strings.NewReader(text))
		var raw json.RawMessage
		if d.Decode(&raw) == nil {
			out = append(out, raw)
			text = text[d.InputOffset():]
			continue
		}
		tries++
		text = text[1:]
	}
	return out
}
