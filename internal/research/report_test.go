package research_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/thread"
)

// part is a section of an outline.
type part struct {
	Title    string   `json:"title"`
	Question string   `json:"question"`
	Queries  []string `json:"queries"`
}

// outlines answers with an outline.
func outlines(parts ...part) func(modelfake.Request) modelfake.Reply {
	b, _ := json.Marshal(map[string][]part{"sections": parts}) // never fails
	return says(string(b))
}

var (
	aboutStone   = part{"The stone", "Of what was the old bridge built?", []string{"stone arches"}}
	aboutMasons  = part{"The masons", "Who built the old bridge?", []string{"masons Bergen"}}
	aboutPenguin = part{"The penguins", "Which penguins live at the bridge?", []string{"penguins"}}
)

const aboutBridges = "Of what stone did masons build the old bridge?"

// rivals is a library with two documents that disagree, and others.
func rivals(t testing.TB) *fixture {
	w := bridges(t)
	w.put(source.Document{
		Title: "Chronicle", Year: 1920, Text: "The old bridge was built of stone in 1860. The chronicle is old.",
	})
	return w
}

// sectionOf returns the number of the section that a request is about, or 0.
func sectionOf(r modelfake.Request) int {
	for _, p := range passagesOf(r, "section") {
		return p.number
	}
	return 0
}

// quotesOf returns the numbers of the quotes in a request that contain a text.
func quotesOf(r modelfake.Request, text string) []int {
	var out []int
	for _, p := range passagesOf(r, "quote") {
		if strings.Contains(p.text, text) {
			out = append(out, p.number)
		}
	}
	return out
}

// helpful chooses the passages that share a word with the part of the question, except common ones.
func helpful(words map[string]string) func(modelfake.Request) modelfake.Reply {
	return func(r modelfake.Request) modelfake.Reply {
		var list []quote
		for key, word := range words {
			if !strings.Contains(r.Last(), key) {
				continue
			}
			for _, p := range passagesOf(r, "passage") {
				if s := strings.TrimSpace(sentence.FindString(p.text)); strings.Contains(s, word) {
					list = append(list, quote{p.number, s, 9})
				}
			}
		}
		return quotes(list...)(r)
	}
}

// reporter is a brain that writes a report of two sections about bridges, with a third that nothing is found for, and
// finds the disagreement between two of the documents.
func reporter() brain {
	return brain{
		outline: outlines(aboutStone, aboutMasons, aboutPenguin),
		evidence: helpful(map[string]string{
			aboutStone.Question: "of stone", aboutMasons.Question: "Masons", aboutPenguin.Question: "penguin",
		}),
		disagree: func(r modelfake.Request) modelfake.Reply {
			return says(fmt.Sprintf(`{"disagreements":[{"about":"Year of construction","a":%d,"b":%d,`+
				`"how":"One source says that it was built in 1850, the other in 1860."}]}`,
				quotesOf(r, "1850")[0], quotesOf(r, "1860")[0]))(r)
		},
	}
}

const reportOfBridges = `## The stone

The old bridge was built of stone in 1850 [1]. The old bridge was built of stone in 1860 [2].

## The masons

Masons from Bergen built the old bridge [3].

## What sources disagree about

- Year of construction: One source says that it was built in 1850, the other in 1860 [1][2].

## What was not found

No source answers these questions:

- The penguins: Which penguins live at the bridge?

No source contains “penguins”.`

func TestAResearchTurnWritesAReport(t *testing.T) {
	t.Parallel()
	for _, format := range []modelfake.Format{modelfake.OpenAI, modelfake.Anthropic} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			w := rivals(t)
			s := w.fakeOf(format, reporter())
			got := w.turn(thread.Question{Text: aboutBridges, Research: true})
			w.holds(got)
			if got.task.State != task.StateComplete || got.Text != reportOfBridges || got.shown != got.Text || got.Partial {
				t.Errorf("ended %s (%s) with %s\nreaders saw %s", got.task.State, got.task.ErrorDetail, got.Text, got.shown)
			}
			want := []string{
				"plan", "outline", "evidence", "evidence", "evidence", "plan", "plan", "section", "section", "disagree", "judge",
			}
			if asked := stages(s); !slices.Equal(asked, want) {
				t.Errorf("asked for %q", asked)
			}
			for _, label := range []string{
				"Outline: 3 sections: The stone; The masons; The penguins", "Searching 2 sources for 3 sections",
				"Section 1 of 3: The stone: reading 4 documents", "Section 2 of 3: The masons: choosing quotes",
				"Section 2 of 3: The masons: writing", "Section 1 of 3: The stone: checking citations", "Comparing the sources",
			} {
				if !slices.Contains(got.steps, label) {
					t.Errorf("%q is not among the steps %q", label, got.steps)
				}
			}
			w.wellFormed(t, got)
			if got.Usage == nil || got.Usage.CostMicros != w.purse.spent || w.purse.reserved != 0 {
				t.Errorf("used %+v of %+v", got.Usage, &w.purse)
			}
		})
	}
}

// wellFormed fails the test unless the checks of a report are in order, do not overlap and cover every line, and the
// citations have distinct numbers and quotes.
func (w *fixture) wellFormed(t *testing.T, got reply) {
	t.Helper()
	text := []rune(got.Text)
	covered := make([]bool, len(text))
	last := 0
	for _, c := range got.Checks {
		if c.Start < last {
			t.Errorf("the check of %q begins before %d", string(text[c.Start:c.End]), last)
		}
		last = c.End
		for i := c.Start; i < c.End; i++ {
			covered[i] = true
		}
		if strings.Contains(string(text[c.Start:c.End]), "\n") {
			t.Errorf("a check covers several lines: %q", string(text[c.Start:c.End]))
		}
	}
	for i, r := range text {
		if !covered[i] && !strings.ContainsRune(" \n->*", r) && !regexp.MustCompile(`(?m)^> — .*$`).MatchString(got.Text) {
			t.Errorf("%q has no check", string(text[i:min(i+20, len(text))]))
			break
		}
	}
	numbers, spans := map[int]bool{}, map[string]bool{}
	for _, c := range got.Citations {
		span := fmt.Sprint(c.DocumentID, c.Start, c.End)
		if numbers[c.N] || spans[span] {
			t.Errorf("[%d] is there twice", c.N)
		}
		numbers[c.N], spans[span] = true, true
	}
}

// TestReadersSeeTheFinalText has answers whose later text changes what was already shown, because it closes a
// comment or an address of an earlier paragraph.
func TestReadersSeeTheFinalText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"It was built in 1850 [1]. <!-- \n\nIt is old. --> It has three arches.",
		"It was built in 1850 [1]. See <https://e. \n\ntest> now. It has three arches.",
	} {
		for _, research := range []bool{false, true} {
			w := rivals(t)
			b := brain{answer: says(text), section: says(text), outline: outlines(aboutStone, aboutMasons)}
			b.evidence = quotes(quote{1, "The old bridge was built of stone in 1850.", 10})
			w.fake(b)
			got := w.turn(thread.Question{Text: aboutBridges, Research: research})
			if w.holds(got); got.shown != got.Text || !strings.Contains(got.Text, "1850") {
				t.Errorf("research %v: %q is %q, and readers saw %q", research, text, got.Text, got.shown)
			}
		}
		talk := strings.ReplaceAll(text, " [1]", "")
		w := bridges(t)
		w.cited("How old is it?", "It was built in 1850 [1].", w.docs[0], "The old bridge was built of stone in 1850.")
		w.fake(brain{reply: says(talk), plan: planned("transformation"), transform: says(text)})
		for _, message := range []string{"hello", "Rewrite your last answer"} {
			if got := w.ask(message); got.shown != got.Text || !strings.Contains(got.Text, "1850") {
				t.Errorf("%s: %q is %q, and readers saw %q", message, text, got.Text, got.shown)
			}
		}
	}
}
