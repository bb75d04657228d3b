package transcript

import (
	"strconv"
	"strings"

	"carrel/internal/core"
	"carrel/internal/thread"
)

// verdictTexts describe the verdicts, in the order of an export.
var verdictTexts = []struct {
	state thread.CheckState
	text  string
}{
	{thread.Quoted, "quoted"},
	{thread.Supported, "supported"},
	{thread.Cited, "cited, not judged"},
	{thread.Contradicted, "contradicted"},
	{thread.Unsupported, "not supported"},
	{thread.Uncited, "without a citation"},
	{thread.FromMemory, "from a memory"},
}

// problemMarks are written after the sentences with a problem, as in an answer copied from the web app.
var problemMarks = map[thread.CheckState]string{
	thread.Contradicted: "[≠ contradicted]",
	thread.Unsupported:  "[? not supported]",
	thread.Uncited:      "[∅ without a citation]",
}

// within reports whether the offsets of a check are a range of the text.
func within(c thread.Check, text []rune) bool {
	return c.Start >= 0 && c.Start < c.End && c.End <= len(text)
}

// VerdictCount is the number of sentences with a verdict.
type VerdictCount struct {
	State thread.CheckState
	N     int
}

// Counts counts the sentences of the message by verdict. Sentences that make no claim are left out.
func (m Message) Counts() []VerdictCount {
	var out []VerdictCount
	for _, v := range verdictTexts {
		n := 0
		for _, c := range m.checks {
			if c.State == v.state {
				n++
			}
		}
		if n > 0 {
			out = append(out, VerdictCount{v.state, n})
		}
	}
	return out
}

// verdictLine counts the sentences by verdict and judge: "2 quoted; 1 supported (judged by the model)". Sentences that
// make no claim are left out.
func verdictLine(checks []thread.Check) string {
	var parts []string
	for _, v := range verdictTexts {
		counts := map[thread.Judge]int{}
		for _, c := range checks {
			if c.State == v.state {
				counts[c.By]++
			}
		}
		for _, judge := range []thread.Judge{thread.ByRules, thread.ByModel, ""} {
			if counts[judge] == 0 {
				continue
			}
			part := strconv.Itoa(counts[judge]) + " " + v.text
			if v.state == thread.Supported || v.state == thread.Contradicted || v.state == thread.Unsupported {
				part += map[thread.Judge]string{
					thread.ByRules: " (judged by rules)", thread.ByModel: " (judged by the model)",
				}[judge]
			}
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

// ProblemList is a list of sentences with the same problem, each with its reason.
type ProblemList struct {
	Head string
	// Uncited is set for sentences without a citation, otherwise their citations do not support them.
	Uncited   bool
	Sentences []string
}

// problemsOf lists the sentences whose citations do not support them, and the facts without a citation.
func problemsOf(m thread.Message) []ProblemList {
	lists := []ProblemList{{Head: "Not supported by the cited quotes:"}, {Head: "Without a citation:", Uncited: true}}
	text := []rune(m.Text)
	for _, c := range m.Answer.Checks {
		if !within(c, text) {
			continue
		}
		line := "“" + core.OneLine(string(text[c.Start:c.End])) + "”"
		if c.Detail != "" {
			line += ": " + core.OneLine(c.Detail)
		}
		switch {
		case c.Refuted():
			lists[0].Sentences = append(lists[0].Sentences, line)
		case c.State == thread.Uncited:
			lists[1].Sentences = append(lists[1].Sentences, line)
		}
	}
	var out []ProblemList
	for _, list := range lists {
		if list.Sentences != nil {
			out = append(out, list)
		}
	}
	return out
}
