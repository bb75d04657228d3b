package research

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
	"carrel/internal/model"
)

const (
	// maxSections is how many sections of an outline are used, and sectionQueries how many queries of a section.
	maxSections    = 6
	sectionQueries = 3
	// outlineTokens limits the reply, and outlineShare is the part of the turn's time that it may take: a sixth.
	outlineTokens = 1200
	outlineShare  = 6
	// longestTitle limits the title of a section in code points.
	longestTitle = 80
)

// outlineSchema requires every field and allows no others, because some providers accept nothing else.
var outlineSchema = &model.Schema{Name: "outline", JSON: json.RawMessage(`{"type":"object","properties":{` +
	`"sections":{"type":"array","items":{"type":"object","properties":{` +
	`"title":{"type":"string"},"question":{"type":"string"},"queries":{"type":"array","items":{"type":"string"}}},` +
	`"required":["title","question","queries"],"additionalProperties":false}}},` +
	`"required":["sections"],"additionalProperties":false}`)}

// outline asks the model for the sections of a report. Without at least two usable sections, the report has one: the
// question. If a limit is reached, there is no report. The model has seen no text of the sources, but its titles and
// questions are untrusted all the same.
func (t *turn) outline(ctx context.Context, g *gathered) ([]*section, error) {
	var planned []plannedSection
	if !t.slow {
		text := t.ready.conversation() + t.ready.notes() + t.sourcesText() + t.questionText(g)
		answer, err := t.askWithin(ctx, "outline", "Outlining the report", model.Request{
			System: t.ready.system(outlinePrompt), Schema: outlineSchema, MaxTokens: outlineTokens,
			Temperature: new(float64), Messages: []model.Message{{Role: model.RoleUser, Text: text}},
		}, nil, t.limits.Time/outlineShare)
		if err != nil {
			return nil, err
		}
		if answer.Failure != nil && answer.Failure.isLimit() {
			g.failure = answer.Failure
			return nil, nil
		}
		t.slow = answer.Expired
		planned = readOutline(answer.Text)
	}
	if len(planned) < 2 {
		only := &section{gathered: gathered{question: g.question, lookups: g.lookups, evidence: g.evidence}, n: 1, of: 1}
		for _, p := range planned {
			only.addLookups(p.lookups(t.ready.Sources))
		}
		return []*section{only}, nil
	}
	out := make([]*section, len(planned))
	for i, p := range planned {
		s := &section{gathered: gathered{question: p.Question, part: true}, title: p.Title, n: i + 1, of: len(planned)}
		s.addLookups(p.lookups(t.ready.Sources))
		t.sectionWords += " " + p.Question
		out[i] = s
	}
	return out, nil
}

// plannedSection is a section of an outline. Everything in it may be missing.
type plannedSection struct {
	Title    string
	Question string
	Queries  []plannedQuery
}

// UnmarshalJSON accepts an object in any form that models write, or the title alone. It never fails.
func (p *plannedSection) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, &p.Title)
	}
	var o struct {
		Title    string          `json:"title"`
		Heading  string          `json:"heading"`
		Question string          `json:"question"`
		Queries  json.RawMessage `json:"queries"`
	}
	if json.Unmarshal(b, &o) != nil {
		return nil //nolint:nilerr // a section of another form is left out
	}
	p.Title, p.Question = cmp.Or(o.Title, o.Heading), o.Question
	var one string
	if json.Unmarshal(o.Queries, &p.Queries) != nil {
		p.Queries = nil
		if json.Unmarshal(o.Queries, &one) == nil {
			p.Queries = []plannedQuery{{Query: one}}
		}
	}
	return nil
}

// lookups returns the searches of the section: its question and its queries.
func (p plannedSection) lookups(sources []knownSource) []lookup {
	out := []lookup{{Text: p.Question}}
	for _, q := range p.Queries {
		l, ok := q.lookup(sources)
		if ok && !slices.ContainsFunc(out, l.same) && len(out) <= sectionQueries {
			out = append(out, l)
		}
	}
	return out
}

// readOutline parses an outline leniently.
func readOutline(text string) []plannedSection {
	var all []plannedSection
	for _, raw := range jsonObjects(text) {
		var o struct {
			Sections []plannedSection `json:"sections"`
		}
		var one plannedSection
		if json.Unmarshal(raw, &o) == nil && len(o.Sections) > 0 {
			all = append(all, o.Sections...)
		} else if json.Unmarshal(raw, &one) == nil {
			all = append(all, one) // of an outline that broke off
		}
	}
	var out []plannedSection
	for _, p := range all {
		p.Title, p.Question = plainTitle(p.Title), clip(plainLine(p.Question), longestQuery)
		p.Title = cmp.Or(p.Title, plainTitle(p.Question))
		p.Question = cmp.Or(p.Question, p.Title)
		known := slices.ContainsFunc(out, func(o plannedSection) bool {
			return core.Fold(o.Title) == core.Fold(p.Title) || core.Fold(o.Question) == core.Fold(p.Question)
		})
		if p.Title != "" && !known && len(out) < maxSections {
			out = append(out, p)
		}
	}
	return out
}

var (
	// headingMarks match the marks before the words of a heading or a list item, and markup the marks of links,
	// emphasis, code and tables.
	headingMarks = lazyregexp.New(`^(?:[#>+\-–—•\s]+|\d+(?:\.\d+)*[.):]\s+)+`)
	markup       = strings.NewReplacer("[", "", "]", "", "<", "", ">", "", "`", "", "*", "", "|", "", "__", "", "~~", "",
		"##", "", "\\", "")
)

// plainTitle returns the words of a title, without anything that Markdown could take for a link, an image or a mark.
func plainTitle(title string) string {
	title = headingMarks.ReplaceAllString(plainLine(title), "")
	return strings.TrimRight(clip(strings.TrimSpace(title), longestTitle), " .:;,#")
}

// plainLine returns a text of the model on one line, without control characters, links, images and marks.
func plainLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
	const passes = 8 // removing a mark can join the halves of a link
	for range passes {
		next := strings.Join(strings.Fields(markup.Replace(oneLine(text))), " ")
		if next == text {
			return text
		}
		text = next
	}
	return "" // the text is adversarial
}
