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
	// planQueries is how many queries of a plan are used, and planTokens the limit of its length.
	planQueries = 4
	planTokens  = 600
	// longestQuery is the maximum length of a query in code points.
	longestQuery = 300
)

// planSchema requires every field and allows no others, because some providers accept nothing else.
var planSchema = &model.Schema{Name: "plan", JSON: json.RawMessage(`{"type":"object","properties":{` +
	`"question":{"type":"string"},` +
	`"queries":{"type":"array","items":{"type":"object","properties":{` +
	`"query":{"type":"string"},"source":{"type":"integer"},"fromYear":{"type":"integer"},"toYear":{"type":"integer"}},` +
	`"required":["query","source","fromYear","toYear"],"additionalProperties":false}}},` +
	`"required":["question","queries"],"additionalProperties":false}`)}

// plan asks the model what to search for. If the reply cannot be parsed, the question itself is searched. In later
// rounds an empty plan means that nothing more is needed.
func (t *turn) plan(ctx context.Context, g *gathered, round int) ([]lookup, error) {
	own := lookup{Text: clip(t.query.Text, longestQuery)}
	r := model.Request{
		System: t.ready.system(planPrompt), Schema: planSchema, MaxTokens: planTokens, Temperature: new(float64),
		Messages: []model.Message{{Role: model.RoleUser, Text: t.planText(g)}},
	}
	label := "Planning the search"
	if round > 1 {
		label = "Searching for missing information"
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
	t.memoriesShown = true
	question, lookups := readPlan(answer.Text, t.ready.Sources)
	if round == 1 {
		g.question = question
	}
	fresh := slices.DeleteFunc(lookups, func(l lookup) bool { return slices.ContainsFunc(g.lookups, l.same) })
	fresh = fresh[:min(len(fresh), planQueries)]
	g.lookups = append(g.lookups, fresh...)
	if round == 1 {
		// The question itself is searched as well, in case the plan is wrong.
		return slices.Clone(g.lookups), nil
	}
	return fresh, nil
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

// readPlan parses a plan leniently.
func readPlan(text string, sources []knownSource) (question string, lookups []lookup) {
	var queries []plannedQuery
	for _, raw := range jsonObjects(text) {
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
