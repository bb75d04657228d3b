package research_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"carrel/internal/memory"
	"carrel/internal/model"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/thread"
)

// bridges returns a library in which two documents answer.
func bridges(t testing.TB) *fixture {
	w := newFixture(t)
	w.put(
		source.Document{
			Title: "The old bridge", Year: 1900, DOI: "10.1/a",
			Text: "The old bridge was built of stone in 1850. It has three arches.",
		},
	)
	w.put(
		source.Document{
			Title: "Masons", URL: "https://example.org/m",
			Text: "Masons from Bergen built the old bridge. They were paid in fish.",
		},
	)
	w.put(
		source.Document{
			Title: "Ferries", SourceID: "src_a", Text: "Before the old bridge, a ferry crossed the river. It was slow.",
		},
	)
	w.options.Prices = model.Prices{Default: &model.Price{In: 1_000_000, Out: 2_000_000}}
	return w
}

const aboutBridge = "When was the old bridge built?"

func stages(s *modelfake.Server) []string {
	var out []string
	for _, r := range s.Requests() {
		out = append(out, stage(r))
	}
	return out
}

func TestAModelAnswersFromQuotesThatWereChecked(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	s := w.fake(brain{
		plan: plans("old bridge masons", "ferry river"),
		evidence: quotes(
			quote{1, "The old bridge was built of stone in 1850.", 10}, quote{2, "Masons from Bergen built the old bridge.", 8},
			quote{3, "Before the old bridge, a ferry crossed the river.", 5},
		),
		answer: says("It was built in 1850 [1], by masons from Bergen [2]. Nobody doubts it."),
	})
	got := w.ask(aboutBridge)
	w.holds(got)
	if got.Text != "It was built in 1850 [1], by masons from Bergen [2]. Nobody doubts it." || got.shown != got.Text {
		t.Errorf("the reply is %q, and readers of the stream saw %q", got.Text, got.shown)
	}
	if len(got.Citations) != 2 || got.Citations[0].Quote != "The old bridge was built of stone in 1850." ||
		got.Citations[0].DOI != "10.1/a" || got.Citations[1].URL != "https://example.org/m" {
		t.Errorf("cited %+v", got.Citations)
	}
	if len(got.Checks) != 2 || got.Checks[0].State != thread.Supported || got.Checks[1].State != thread.Uncited {
		t.Errorf("checked %+v", got.Checks)
	}
	want := []string{
		"Reading the question", "Planning the reply", "Searching 2 sources", "Reading 3 documents", "Choosing quotes",
		"Writing the answer", "Checking citations",
	}
	if !slices.Equal(got.steps, want) {
		t.Errorf("the steps were %q", got.steps)
	}
	if got := stages(s); !slices.Equal(got, []string{"plan", "evidence", "answer"}) {
		t.Errorf("asked for %q", got)
	}
	if u := got.Usage; u == nil || u.Model != "fake-1" || u.InputTokens == 0 ||
		u.CostMicros != u.InputTokens+2*u.OutputTokens || u.Estimated {
		t.Errorf("used %+v", u)
	}
	if w.purse.spent != got.Usage.CostMicros || w.purse.reserved != 0 || w.purse.settled != 3 {
		t.Errorf("the purse is at %+v", &w.purse)
	}
	if got.Partial || got.Query != "" || got.MemoriesUsed != nil {
		t.Errorf("%+v", got.Answer)
	}
	texts := []string{}
	for _, r := range w.searches {
		texts = append(texts, r.Text)
	}
	slices.Sort(texts)
	if !slices.Equal(texts, []string{aboutBridge, "ferry river", "old bridge masons"}) {
		t.Errorf("searched for %q", texts)
	}
}

func TestAPlanIsTakenInAnyForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan string
		want []search.Query
	}{
		"a code fence": {
			"Sure!\n```json\n{\"question\":\"q\",\"queries\":[{\"query\":\"ferry\",\"source\":2,\"fromYear\":1900," +
				"\"toYear\":1850}]}\n```",
			[]search.Query{{Text: "ferry", Sources: []string{"src_a"}, FromYear: 1850, ToYear: 1900}},
		},
		"texts alone": {
			`{"queries":["ferry"," river \n boats "]}`, []search.Query{{Text: "ferry"}, {Text: "river boats"}},
		},
		"numbers as texts": {
			`{"queries":[{"query":"ferry","source":"1","fromYear":"1850.0","toYear":null}]}`,
			[]search.Query{{Text: "ferry", Sources: []string{"src_l"}, FromYear: 1850}},
		},
		"broken off": {`{"question":"q","queries":[{"query":"ferry"},{"query":"riv`, []search.Query{{Text: "ferry"}}},
		"no JSON":    {"I would search for the ferry.", nil},
		"nonsense": {
			`{"queries":[{"query":"ferry","source":99,"fromYear":-3,"toYear":123456},{"query":""}]}`,
			[]search.Query{{Text: "ferry"}},
		},
		"far too many": {
			`{"queries":["a1","b2","c3","d4","e5","f6"]}`,
			[]search.Query{{Text: "a1"}, {Text: "b2"}, {Text: "c3"}, {Text: "d4"}},
		},
		"the question again": {`{"queries":["when WAS the  old bridge built?"]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bridges(t)
			w.fake(brain{plan: says(c.plan)})
			w.holds(w.ask(aboutBridge))
			var got []string
			for _, r := range w.searches {
				if r.Text != aboutBridge {
					got = append(got, fmt.Sprint(r.Text, r.Sources, r.FromYear, r.ToYear))
				}
			}
			var want []string
			for _, r := range c.want {
				want = append(want, fmt.Sprint(r.Text, r.Sources, r.FromYear, r.ToYear))
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || len(w.searches) != len(want)+1 {
				t.Errorf("searched for %q, want %q", got, want)
			}
		})
	}
}

func TestSearchesAreMadeTogetherAndTheSameWorkIsReadOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i, d := range []source.Document{
		{Title: "One", DOI: "10.1/A"},
		{Title: "One again", DOI: "https://doi.org/10.1/a"},
		{Title: "Two", URL: "https://Example.org/x/"},
		{Title: "Two again", URL: "http://example.org/x#top"},
		{Title: "Three", Hash: []byte{1}},
		{Title: "Three again", Hash: []byte{1}},
		{Title: "Four"},
	} {
		d.Text = fmt.Sprintf("The old bridge is number %d of all.", i)
		w.put(d)
	}
	var together sync.WaitGroup
	together.Add(3)
	w.find = func(r search.Query) (source.Found, error) {
		together.Done()
		together.Wait() // each waits for the others
		return w.library(r)
	}
	s := w.fake(brain{plan: plans("bridge one", "bridge two"), evidence: quotes()})
	w.ask("old bridge")
	for _, r := range s.Requests() {
		if stage(r) == "evidence" && len(passagesOf(r, "passage")) != 4 {
			t.Errorf("%d passages were read", len(passagesOf(r, "passage")))
		}
	}
}

func TestAFailedSearchIsSaidAndTheOthersCount(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.find = func(r search.Query) (source.Found, error) {
		if r.Text == "ferry" {
			return source.Found{}, context.DeadlineExceeded
		}
		return w.library(r)
	}
	w.fake(brain{plan: plans("ferry")})
	got := w.ask(aboutBridge)
	w.holds(got)
	if got.task.State != task.StateComplete || !strings.Contains(got.Text, "Not everything could be searched:\n"+
		"- The search took longer than 8 seconds.") {
		t.Errorf("ended %s with %s", got.task.State, got.Text)
	}
	w.find = func(search.Query) (source.Found, error) { return source.Found{}, context.DeadlineExceeded }
	if got := w.ask(aboutBridge); got.task.State != task.StateFailed || got.task.ErrorCode != "unavailable" {
		t.Errorf("ended %s, %s", got.task.State, got.task.ErrorCode)
	}
}

func TestQuotesThatAreNotThereAreDropped(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	s := w.fake(brain{
		evidence: quotes(
			quote{1, "The old bridge was built of stone in 1851.", 10}, // wrong year
			quote{1, "The old bridge was built of wood in 1850.", 10},
			quote{1, "built", 10}, // too short to be unique
			quote{2, "the old   bridge was built of stone in 1850.", 10},
			quote{9, "Masons from Bergen built the old bridge.", 7}, // wrong passage number
			quote{3, "It was slow.", 1},
			quote{1, "The old\nbridge was built of ‘stone’ in 1850.", 9},
			quote{1, "The old  bridge was built of stone in 1850.", 8},
		),
		answer: says("Yes [1]. Also [2]."),
	})
	got := w.ask(aboutBridge)
	w.holds(got)
	var shown []string
	for _, r := range s.Requests() {
		if stage(r) == "answer" {
			for _, p := range passagesOf(r, "quote") {
				shown = append(shown, p.text)
			}
		}
	}
	if want := []string{
		"The old bridge was built of stone in 1850.", "Masons from Bergen built the old bridge.",
	}; !slices.Equal(shown, want) {
		t.Errorf("the answer was written from %q", shown)
	}
}

func TestAModelThatDoesNotKnowTheFormGetsQuotesByWords(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	s := w.fake(brain{evidence: says("The first passage looks good to me."), answer: says("In 1850 [1].")})
	got := w.ask("When was the old bridge built of stone?")
	w.holds(got)
	if got.Text != "In 1850 [1]." || len(got.Citations) != 1 {
		t.Errorf("%s\nafter %q", got.Text, stages(s))
	}
}

func TestTheSearchGoesOnUntilThereIsEnough(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, topic := range []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta"} {
		w.put(source.Document{Title: topic, Text: "All about " + topic + " is written here."})
	}
	round := 0
	names := []string{"beta", "gamma", "delta", "epsilon"}
	one := func(r modelfake.Request) modelfake.Reply {
		p := passagesOf(r, "passage")
		return quotes(quote{1, p[0].text, 9})(r)
	}
	s := w.fake(brain{plan: func(r modelfake.Request) modelfake.Reply {
		round++
		return plans(names[round-1])(r)
	}, evidence: one})
	w.find = func(r search.Query) (source.Found, error) {
		if r.Text == "Tell me of alpha" {
			r.Text = "alpha"
		}
		return w.library(r)
	}
	got := w.ask("Tell me of alpha")
	w.holds(got)
	// The first round finds two documents, one of which is quoted; later rounds find one each.
	want := []string{"plan", "evidence", "plan", "evidence", "plan", "evidence", "answer"}
	if got := stages(s); !slices.Equal(got, want) {
		t.Errorf("asked for %q", got)
	}
	later := s.Requests()[2].Last()
	if !strings.Contains(later, "searched: beta") || !strings.Contains(later, "found: All about") {
		t.Errorf("the second plan knew %s", later)
	}
	if got.Partial || !slices.Contains(got.steps, "Searching for missing information") {
		t.Errorf("%+v", got)
	}
}

func TestTheSearchEndsWhenNothingNewComes(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	s := w.fake(
		brain{
			plan: plans("old bridge"), evidence: quotes(quote{1, "The old bridge was built of stone in 1850.", 10}),
			answer: says("In 1850 [1]."),
		},
	)
	got := w.ask(aboutBridge)
	if got := stages(s); !slices.Equal(got, []string{"plan", "evidence", "plan", "answer"}) {
		t.Errorf("asked for %q", got)
	}
	if w.holds(got); got.Text != "In 1850 [1]." || got.Partial {
		t.Errorf("%+v", got.Answer)
	}
}

func TestResearchMayLookFurther(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i := range 40 {
		w.put(
			source.Document{
				Title: fmt.Sprint("Bridge ", i),
				Text:  fmt.Sprintf("The old bridge number %d was built of stone. %s", i, strings.Repeat("It is long. ", 5)),
			},
		)
	}
	n := 0
	b := brain{plan: func(r modelfake.Request) modelfake.Reply {
		n++
		return plans(fmt.Sprint("bridge number ", n), fmt.Sprint("stone ", n))(r)
	}}
	s := w.fake(b)
	w.turn(thread.Question{Text: "Which old bridges are there?", Research: true})
	batches := 0
	for _, r := range s.Requests() {
		if stage(r) == "evidence" {
			batches++
		}
	}
	if batches < 2 {
		t.Errorf("research asked for %q", stages(s))
	}
}

func TestNoEvidenceIsSaidInTheWordsOfTheSources(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]brain{
		"no quotes":              {evidence: quotes()},
		"the model declines":     {answer: says("NOT ANSWERED")},
		"it declines with words": {answer: says("NOT ANSWERED: the quotes say nothing of it.")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bridges(t)
			w.fake(b)
			got := w.ask(aboutBridge)
			w.holds(got)
			if !strings.HasPrefix(got.Text, "The model found no answer in the passages it read.\n\n"+
				"Closest passages; they may not answer this:") || len(got.Citations) == 0 || got.Usage == nil {
				t.Error(got.Text)
			}
			if got.shown != got.Text {
				t.Errorf("readers of the stream saw %q", got.shown)
			}
			if got := w.ask("Penguins?"); !strings.Contains(got.Text, "Nothing in 2 sources matched.") {
				t.Error(got.Text)
			}
		})
	}
}

func TestACitationThatSaysSomethingElseIsRepairedOrMarked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer, repair, want string
		states               []thread.CheckState
	}{
		"repaired": {
			"It was built in 1860 [1]. It is old [2].", "It was built in 1850 [1]. It is old [2].",
			"It was built in 1850 [1]. It is old [2].",
			[]thread.CheckState{thread.Supported, thread.Cited},
		},
		"no better": {
			"It was built in 1860 [1]. It is old [2].", "It was built in 1861 [1]. It is old [2].",
			"It was built in 1860 [1]. It is old [2].",
			[]thread.CheckState{thread.Contradicted, thread.Cited},
		},
		"an unknown key": {
			"It was built in 1850 [1]. It is old [7].", "It was built in 1850 [1]. It is old [2].",
			"It was built in 1850 [1]. It is old [2].",
			[]thread.CheckState{thread.Supported, thread.Cited},
		},
		"still unknown": {
			"It was built in 1850 [1]. It is old [7].", "It was built in 1850 [1]. It is old [8].",
			"It was built in 1850 [1]. It is old.",
			[]thread.CheckState{thread.Supported, thread.Unsupported},
		},
		"declined": {
			"It was built in 1860 [1]. It is old [2].", "NOT ANSWERED", "It was built in 1860 [1]. It is old [2].",
			[]thread.CheckState{thread.Contradicted, thread.Cited},
		},
		"nothing cited": {"It is old.", "It is old [1].", "It is old [1].", []thread.CheckState{thread.Cited}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bridges(t)
			s := w.fake(brain{answer: says(c.answer), repair: says(c.repair)})
			got := w.ask(aboutBridge)
			w.holds(got)
			var states []thread.CheckState
			for _, x := range got.Checks {
				states = append(states, x.State)
			}
			if got.Text != c.want || !slices.Equal(states, c.states) || !slices.Contains(stages(s), "repair") {
				t.Errorf("%q with %v after %q", got.Text, got.Checks, stages(s))
			}
		})
	}
}

func TestAnAnswerThatCitesNothingIsNotGiven(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.fake(brain{answer: says("Trust me, it is old."), repair: says("Trust me.")})
	got := w.ask(aboutBridge)
	w.holds(got)
	if strings.Contains(got.Text, "Trust me") || !strings.HasPrefix(got.Text, "The model did not answer; these are "+
		"quotes from your sources.") || len(got.Citations) == 0 {
		t.Error(got.Text)
	}
}

func TestMemoriesAreToldAsNotesAndListed(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.agent.Instructions = "Answer as a pirate."
	w.memories = []memory.Memory{{ID: "mem_1", Text: "The user prefers\nshort answers."}}
	s := w.fake(brain{})
	got := w.ask(aboutBridge)
	if len(got.MemoriesUsed) != 1 || got.MemoriesUsed[0] != (thread.UsedMemory{ID: "mem_1", Text: "The user prefers\n" +
		"short answers."}) {
		t.Errorf("used %+v", got.MemoriesUsed)
	}
	for _, r := range s.Requests() {
		notes := strings.Contains(r.Last(), "notes about the user, not a source\">\n- The user prefers short answers.\n")
		owners := strings.Contains(r.System, "Answer as a pirate.")
		if want := stage(r) != "evidence"; notes != want || owners != want {
			t.Errorf("the stage %s has notes: %v, instructions: %v", stage(r), notes, owners)
		}
		if strings.Contains(r.System, "short answers") || strings.Contains(r.System, "1850") {
			t.Errorf("the system is told %s", r.System)
		}
	}
	if len(w.proposed) > 0 {
		t.Errorf("proposed %q", w.proposed)
	}
}

func TestAModelRewritesAFollowUp(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.said("Tell me of the old bridge", "It is old. [1]", "The old bridge")
	s := w.fake(brain{plan: says(`{"question":"When was the old bridge built?","queries":["old bridge 1850"]}`)})
	got := w.ask("When was it built?")
	if got.Query != "When was the old bridge built?" {
		t.Errorf("the query is %q", got.Query)
	}
	for _, r := range s.Requests() {
		talk := strings.Contains(r.Last(), "Q1: Tell me of the old bridge\nA1: It is old. [1]")
		if talk != (stage(r) != "evidence") {
			t.Errorf("the stage %s has the conversation: %v", stage(r), talk)
		}
		if stage(r) != "plan" &&
			(!strings.HasSuffix(r.Last(), "Question: When was it built?") ||
				!strings.Contains(r.Last(), "kind=\"question in other words\">\nWhen was the old bridge built?\n")) {
			t.Errorf("the stage %s is asked %s", stage(r), r.Last())
		}
	}
}

func TestAnAgentsModelMustBeAllowed(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.agent.Model = "other-1"
	s := w.fake(brain{})
	got := w.ask(aboutBridge)
	w.holds(got)
	if !strings.Contains(got.Text, "This agent's model may not be used here.") || len(got.Citations) == 0 ||
		len(s.Requests()) > 0 {
		t.Errorf("%s after %q", got.Text, stages(s))
	}
}
