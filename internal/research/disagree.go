package research

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/agent"
	"carrel/internal/model"
	"carrel/internal/research/quote"
	"carrel/internal/thread"
)

const (
	// maxDisagreements is how many disagreements a report lists, and disagreeTokens limits the reply that names them.
	maxDisagreements = 5
	disagreeTokens   = 1000
	// longestDisagreement limits the description of a disagreement in code points.
	longestDisagreement = 400
)

var disagreeSchema = &model.Schema{Name: "disagreements", JSON: json.RawMessage(`{"type":"object","properties":{` +
	`"disagreements":{"type":"array","items":{"type":"object","properties":{` +
	`"about":{"type":"string"},"a":{"type":"integer"},"b":{"type":"integer"},"how":{"type":"string"}},` +
	`"required":["about","a","b","how"],"additionalProperties":false}}},` +
	`"required":["disagreements"],"additionalProperties":false}`)}

// findDisagreements asks the model which quotes of different documents disagree, and checks its sentences like others.
// They are not corrected: a sentence that the two quotes do not support is left out, unless the policy is open.
func (t *turn) findDisagreements(ctx context.Context, r *report) error {
	documents := map[string]bool{}
	for _, q := range r.quotes {
		documents[q.DocumentID] = true
	}
	if len(documents) < 2 || r.unwritten || t.slow || t.exhausted() {
		return nil
	}
	answer, err := t.askWithin(ctx, "disagreements", "Comparing the sources", model.Request{
		System: t.ready.system(disagreePrompt), Schema: disagreeSchema, MaxTokens: disagreeTokens,
		Temperature: new(float64),
		Messages: []model.Message{{
			Role: model.RoleUser, Text: t.quotesText(r.quotes) + "Question: " + t.ready.defuse(t.q.Text),
		}},
	}, nil, t.limits.Time/outlineShare)
	if err != nil || answer.Failure != nil {
		return err
	}
	var lines []string
	for _, d := range readDisagreements(answer.Text) {
		if line := d.render(r.quotes); line != "" && len(lines) < maxDisagreements && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	c, err := t.verify(ctx, &gathered{}, strings.Join(lines, "\n"), r.quotes)
	if err != nil {
		return err
	}
	if t.ready.Settings.Policy != agent.PolicyOpen {
		c = c.withoutLines(func(check thread.Check) bool { return !check.Backed() && check.State != thread.Talk })
	}
	if c.backed() > 0 {
		r.disagreements = &c
	}
	return nil
}

// disagreement is a pair of quotes that cannot both be true, according to the model.
type disagreement struct {
	About string     `json:"about"`
	A     lenientInt `json:"a"`
	B     lenientInt `json:"b"`
	How   string     `json:"how"`
}

// readDisagreements parses the model's comparison leniently.
func readDisagreements(text string) []disagreement {
	var out []disagreement
	for _, raw := range jsonObjects(text) {
		var all struct {
			Disagreements []disagreement `json:"disagreements"`
		}
		var one disagreement
		switch {
		case json.Unmarshal(raw, &all) == nil && len(all.Disagreements) > 0:
			out = append(out, all.Disagreements...)
		case json.Unmarshal(raw, &one) == nil && one.How != "":
			out = append(out, one)
		}
	}
	return out
}

// render returns the disagreement as an item of a list, whose sentences cite both quotes. It returns nothing unless
// both quotes exist, are of different documents, and contain all of its numbers.
func (d disagreement) render(quotes []numbered) string {
	of := func(n lenientInt) string {
		if n < 1 || int(n) > len(quotes) {
			return ""
		}
		return quotes[n-1].DocumentID
	}
	how := clip(plainLine(d.How), longestDisagreement)
	if how == "" || of(d.A) == "" || of(d.B) == "" || of(d.A) == of(d.B) {
		return ""
	}
	line := "- "
	if about := plainTitle(d.About); about != "" {
		line += about + ": "
	}
	marks := fmt.Sprintf(" [%d][%d]", d.A, d.B)
	for i, sentence := range sentencesOf(how) {
		if i > 0 {
			line += " "
		}
		line += strings.TrimRight(sentence, " .!?…") + marks + "."
	}
	for _, s := range quote.Check(line, quotesByNumber([]numbered{quotes[d.A-1], quotes[d.B-1]})).Sentences {
		if s.State != quote.Supported {
			return ""
		}
	}
	return line
}

// withoutLines removes the lines with a sentence for which bad returns true.
func (c checked) withoutLines(bad func(thread.Check) bool) checked {
	out := checked{}
	at := 0 // of the line, in code points
	for line := range strings.SplitSeq(c.Text, "\n") {
		end := at + len([]rune(line))
		var own []thread.Check
		for _, check := range c.Checks {
			if check.Start >= at && check.Start < end {
				own = append(own, check)
			}
		}
		if len(own) > 0 && !slices.ContainsFunc(own, bad) {
			if out.Text != "" {
				out.Text += "\n"
			}
			shift := len([]rune(out.Text)) - at
			out.Text += line
			for _, check := range own {
				check.Start += shift
				check.End += shift
				out.Checks = append(out.Checks, check)
			}
		}
		at = end + 1
	}
	for _, citation := range c.Citations {
		if strings.Contains(out.Text, fmt.Sprintf("[%d]", citation.N)) {
			out.Citations = append(out.Citations, citation)
		}
	}
	return out
}
