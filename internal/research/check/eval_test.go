package check

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// labelled is a line of testdata: a sentence about a passage, and whether the passage says it.
type labelled struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Language string `json:"language"`
	Class    string `json:"class"`
	Label    bool   `json:"label"`
	Sentence string `json:"sentence"`
	Quote    string `json:"quote"`
	Context  string `json:"context"`
	Title    string `json:"title"`
	Year     int    `json:"year"`
	Source   string `json:"source"`
	Licence  string `json:"licence"`
}

func (l *labelled) evidence() []Evidence {
	return []Evidence{{Quote: l.Quote, Context: l.Context, Title: l.Title, Year: l.Year}}
}

func readSet(tb testing.TB, name string) []labelled {
	tb.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	var out []labelled
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l labelled
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			tb.Fatal(err)
		}
		out = append(out, l)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return out
}

// tally counts the states of the sentences of one class.
type tally struct {
	sentences, accepted, rejected int
}

func (t *tally) add(s State) {
	t.sentences++
	switch s {
	case Quoted, Supported:
		t.accepted++
	case Contradicted, Unsupported:
		t.rejected++
	}
}

func share100(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// The targets, in percent.
const (
	maxFalseAccepted     = 8
	minTrueAccepted      = 50
	maxTrueRejected      = 3
	maxUnrelatedAccepted = 2
)

// TestSetIsComplete checks the labelled sentences: their number, the classes, the origin of the passages, and that no
// text is in both halves.
func TestSetIsComplete(t *testing.T) {
	const least = 300
	count := map[bool]int{}
	classes := map[string]bool{}
	kinds := map[string]bool{}
	half := map[string]string{}
	ids := map[string]bool{}
	for _, name := range []string{"development.jsonl", "heldout.jsonl"} {
		for _, l := range readSet(t, name) {
			count[l.Label]++
			kinds[l.Kind] = true
			if !l.Label {
				classes[l.Class] = true
			}
			if other := half[l.Source]; other != "" && other != name {
				t.Errorf("%s is in both halves", l.Source)
			}
			half[l.Source] = name
			if ids[l.ID] {
				t.Errorf("%s: duplicate id", l.ID)
			}
			ids[l.ID] = true
			if !strings.Contains(l.Context, l.Quote) || l.Licence == "" || l.Source == "" || l.Title == "" {
				t.Errorf("%s: incomplete", l.ID)
			}
		}
	}
	if count[true] < least || count[false] < least {
		t.Errorf("%d true and %d false sentences, want %d of each", count[true], count[false], least)
	}
	if len(classes) != 16 || len(kinds) != 4 {
		t.Errorf("%d classes of false sentences and %d kinds of texts", len(classes), len(kinds))
	}
}

func TestRulesReachTheirTargets(t *testing.T) {
	for _, name := range []string{"development.jsonl", "heldout.jsonl"} {
		set := readSet(t, name)
		classes := map[bool]map[string]*tally{true: {}, false: {}}
		total := map[bool]*tally{true: {}, false: {}}
		for _, l := range set {
			f := Judge(l.Sentence, l.Language, l.evidence(), nil)
			if classes[l.Label][l.Class] == nil {
				classes[l.Label][l.Class] = &tally{}
			}
			classes[l.Label][l.Class].add(f.State)
			total[l.Label].add(f.State)
			if os.Getenv("CHECK_LIST") != "" && name == "development.jsonl" {
				// The held-out half is not listed: rules that are tuned on it measure nothing.
				fmt.Printf("%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
					l.Label, f.State, l.Class, l.ID, f.Reason, l.Sentence, f.Detail, l.Quote)
			}
		}
		unrelated := unrelatedPairs(set)
		t.Log(table(name, classes, total, unrelated))
		check := func(what string, got, limit float64, ok bool) {
			if !ok {
				t.Errorf("%s: %s: %.1f %%, target %.0f %%", name, what, got, limit)
			}
		}
		got := share100(total[false].accepted, total[false].sentences)
		check("false sentences supported", got, maxFalseAccepted, got <= maxFalseAccepted)
		got = share100(total[true].accepted, total[true].sentences)
		check("true sentences supported", got, minTrueAccepted, got >= minTrueAccepted)
		got = share100(total[true].rejected, total[true].sentences)
		check("true sentences contradicted or unsupported", got, maxTrueRejected, got <= maxTrueRejected)
		got = share100(unrelated.accepted, unrelated.sentences)
		check("unrelated evidence accepted", got, maxUnrelatedAccepted, got <= maxUnrelatedAccepted)
	}
}

// unrelatedPairs judges every true sentence by quotes of other texts, a dozen each.
func unrelatedPairs(set []labelled) tally {
	const each = 12
	var out tally
	var others []*labelled
	seen := make(map[string]bool)
	for i := range set {
		if !seen[set[i].Quote] {
			seen[set[i].Quote] = true
			others = append(others, &set[i])
		}
	}
	for i := range set {
		if !set[i].Label {
			continue
		}
		judged := 0
		for k := 0; k < len(others) && judged < each; k++ {
			o := others[(i+5*k)%len(others)]
			if o.Source != set[i].Source && o.Language == set[i].Language {
				out.add(Judge(set[i].Sentence, set[i].Language, o.evidence(), nil).State)
				judged++
			}
		}
	}
	return out
}

func table(name string, classes map[bool]map[string]*tally, total map[bool]*tally, unrelated tally) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%-8s %-14s %9s %10s %10s\n", name, "label", "class", "sentences", "supported", "rejected")
	row := func(label, class string, t *tally) {
		fmt.Fprintf(&b, "%-8s %-14s %9d %8.1f %% %8.1f %%\n", label, class, t.sentences,
			share100(t.accepted, t.sentences), share100(t.rejected, t.sentences))
	}
	for _, label := range []bool{false, true} {
		var names []string
		for class := range classes[label] {
			names = append(names, class)
		}
		slices.Sort(names)
		for _, class := range names {
			row(strconv.FormatBool(label), class, classes[label][class])
		}
		row(strconv.FormatBool(label), "all", total[label])
	}
	row("false", "random pairs", &unrelated)
	return b.String()
}
