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
)

const (
	// planQueries are taken of a plan, and planTokens is how long one may be.
	planQueries = 4
	planTokens  = 600
	// longestQuery is as long as a search may be, in code points.
	longestQuery = 300
)

// planSchema has every field required and none besides: some providers take no other.
var planSchema = &model.Schema{Name: "plan", JSON: json.RawMessage(`{"type":"object","properties":{` +
	`"question":{"type":"string"},` +
	`"queries":{"type":"array","items":{"type":"object","properties":{` +
	`"query":{"type":"string"},"source":{"type":"integer"},"fromYear":{"type":"integer"},"toYear":{"type":"integer"}},` +
	`"required":["query","source","fromYear","toYear"],"additionalProperties":false}}},` +
	`"required":["question","queries"],"additionalProperties":false}`)}

// plan asks the model what to search for. What it answers is advice: a plan that can't be read is the question itself.
// In later rounds no lookups mean that nothing more is needed.
func (t *turn) plan(ctx context.Context, g *gathered, round int) ([]lookup, error) {
	own := lookup{Text: clip(t.query.Text, longestQuery)}
	r := model.Request{
		System: t.ready.system(planPrompt), Schema: planSchema, MaxTokens: planTokens, Temperature: new(float64),
		Messages: []model.Message{{Role: model.RoleUser, Text: t.planText(g)}},
	}
	label := "Planning the search"
	if round > 1 {
		label = "Looking for what is missing"
	}
	answer, err := t.ask(ctx, "plan", label, r, nil)
	if err != nil {
		return nil, err
	}
	if round == 1 {
		g.lookups = append(g.lookups, own)
	}
	if answer.Failure != nil {
		g.failure = answer.Failure
		if round > 1 {
			return nil, nil
		}
		return []lookup{own}, nil
	}
	t.told = true
	question, lookups := readPlan(answer.Text, t.ready.Sources)
	if round == 1 {
		g.question = question
	}
	fresh := slices.DeleteFunc(lookups, func(l lookup) bool { return slices.ContainsFunc(g.lookups, l.same) })
	fresh = fresh[:min(len(fresh), planQueries)]
	g.lookups = append(g.lookups, fresh...)
	if round == 1 {
		// Its own words are searched for as well: it costs nothing, and whoever plans may be wrong.
		return slices.Clone(g.lookups), nil
	}
	return fresh, nil
}

// same reports whether two lookups would find the same.
func (l lookup) same(other lookup) bool {
	folded := core.Fold(l.Text) == core.Fold(other.Text)
	l.Text, other.Text = "", ""
	return folded && l == other
}

// planText is what the model plans from.
func (t *turn) planText(g *gathered) string {
	var b strings.Builder
	b.WriteString(t.ready.conversation())
	b.WriteString(t.ready.notes())
	var sources strings.Builder
	for i, s := range t.ready.Sources {
		fmt.Fprintf(&sources, "%d: %s (%s)\n", i+1, s.Name, count(s.Documents, "document"))
	}
	b.WriteString(t.ready.fence(`kind="sources"`, sources.String()))
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
	b.WriteString("Question: " + t.ready.defuse(t.q.Text))
	return b.String()
}

// readPlan reads a plan, whatever form the model gave it.
func readPlan(text string, sources []knownSource) (question string, lookups []lookup) {
	var queries []plannedQuery
	for _, raw := range objects(text) {
		var p struct {
			Question string         `json:"question"`
			Queries  []plannedQuery `json:"queries"`
		}
		var one plannedQuery
		switch {
		case json.Unmarshal(raw, &p) == nil && (p.Question != "" || len(p.Queries) > 0):
			question = p.Question
			queries = append(queries, p.Queries...)
		case json.Unmarshal(raw, &one) == nil:
			queries = append(queries, one)
		}
	}
	for _, q := range queries {
		if l, ok := q.lookup(sources); ok && !slices.ContainsFunc(lookups, l.same) {
			lookups = append(lookups, l)
		}
	}
	question = strings.Join(strings.Fields(question), " ")
	return clip(question, longestQuery), lookups
}

// plannedQuery is a query of a plan. Models write numbers as text, and leave the object out.
type plannedQuery struct {
	Query            string
	Source           loose
	FromYear, ToYear loose
}

// UnmarshalJSON reads an object, or a text alone.
func (q *plannedQuery) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, &q.Query)
	}
	var o struct {
		Query    string `json:"query"`
		Source   loose  `json:"source"`
		FromYear loose  `json:"fromYear"`
		ToYear   loose  `json:"toYear"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	*q = plannedQuery{o.Query, o.Source, o.FromYear, o.ToYear}
	return nil
}

// lookup makes a search of a planned one, within what there is to search.
func (q plannedQuery) lookup(sources []knownSource) (lookup, bool) {
	l := lookup{Text: clip(strings.Join(strings.Fields(strings.ReplaceAll(q.Query, "\x00", " ")), " "), longestQuery)}
	if n := int(q.Source); n >= 1 && n <= len(sources) {
		l.Source = sources[n-1].ID
	}
	year := func(n loose) int {
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

// loose is a whole number in any form that models give it; what is none is 0.
type loose int

// UnmarshalJSON never fails.
func (n *loose) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err == nil && f > -1e9 && f < 1e9 {
		*n = loose(f)
	}
	return nil
}

// unreadable bounds how many braces are tried that open no whole object.
const unreadable = 25

// objects returns the JSON objects in an answer, however they are wrapped: models put code fences around them, or
// sentences, or break off within the outer one.
func objects(text string) []json.RawMessage {
	var out []json.RawMessage
	for tries := 0; tries < unreadable; {
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
