package research_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/memory"
	"carrel/internal/task"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/thread"
)

// say sends a message and adds it to the conversation with its reply.
func (w *fixture) say(text string) reply {
	w.t.Helper()
	got := w.ask(text)
	w.holds(got)
	if got.task.State != task.StateComplete || got.Text == "" || got.shown != got.Text {
		w.t.Errorf("%q ended %s (%s) with %q, and readers saw %q",
			text, got.task.State, got.task.ErrorDetail, got.Text, got.shown)
	}
	n := len(w.messages)
	answer := got.Answer
	answer.Text = ""
	w.messages = append([]thread.Message{
		{
			ID: fmt.Sprint("msg_a", n), Role: thread.RoleAssistant, Text: got.Text, TurnID: fmt.Sprint("trn_", n),
			Answer: answer,
		},
		{ID: fmt.Sprint("msg_q", n), Role: thread.RoleUser, Text: text, TurnID: fmt.Sprint("trn_", n)},
	}, w.messages...)
	return got
}

// everyone is a sender who may do everything.
var everyone = thread.Sender{Credential: core.CredentialSession, Operations: []core.Operation{
	core.OpAddMemory, core.OpDeleteMemory, core.OpSaveFavourite, core.OpDeleteFavourite,
}}

// planned answers with a plan of one kind.
func planned(kind string, queries ...string) func(modelfake.Request) modelfake.Reply {
	list := []map[string]any{}
	for _, q := range queries {
		list = append(list, map[string]any{"query": q, "source": 0, "fromYear": 0, "toYear": 0})
	}
	b, _ := json.Marshal(map[string]any{ // never fails
		"kinds": []string{kind}, "question": "", "queries": list, "answers": []int{}, "actions": []any{},
	})
	return says(string(b))
}

var (
	firstQuestion = regexp.MustCompile(`(?m)^Q1: (.*)$`)
	givenName     = regexp.MustCompile(`(?m)^- My name is (\w+)`)
)

// marked replaces [Y] and [M] by the marks of the quotes with the year and with the masons.
func marked(r modelfake.Request, text string) string {
	for _, q := range passagesOf(r, "quote") {
		mark := fmt.Sprintf("[%d]", q.number)
		if strings.Contains(q.text, "1850") {
			text = strings.ReplaceAll(text, "[Y]", mark)
		}
		if strings.Contains(q.text, "Masons") {
			text = strings.ReplaceAll(text, "[M]", mark)
		}
	}
	return text
}

// listener replies like a competent model.
var listener = brain{
	plan: func(r modelfake.Request) modelfake.Reply {
		_, message, _ := strings.Cut(r.Last(), "Message: ")
		switch {
		case strings.HasPrefix(message, "When"):
			return planned("sources", "old bridge", "masons")(r)
		case strings.HasPrefix(
			message, "Rewrite",
		), strings.HasPrefix(message, "Translate"), strings.HasPrefix(message, "Make"):
			return planned("transformation")(r)
		}
		return planned("conversation")(r)
	},
	evidence: quotes(
		quote{1, "The old bridge was built of stone in 1850.", 10}, quote{2, "Masons from Bergen built the old bridge.", 9},
		quote{2, "The old bridge was built of stone in 1850.", 10}, quote{1, "Masons from Bergen built the old bridge.", 9},
	),
	answer: func(r modelfake.Request) modelfake.Reply {
		return modelfake.Say(marked(r, "The bridge was built in 1850 [Y]. Masons from Bergen built it [M]."))
	},
	judge: says(`{"sentences":[{"n":1,"verdict":"says","words":"built of stone in 1850"},` +
		`{"n":2,"verdict":"says","words":"Masons from Bergen"}]}`),
	reply: func(r modelfake.Request) modelfake.Reply {
		_, message, _ := strings.Cut(r.Last(), "Message: ")
		switch {
		case strings.HasPrefix(message, "What is my name"):
			if m := givenName.FindStringSubmatch(r.Last()); m != nil {
				return modelfake.Say("Your name is " + m[1] + ".")
			}
			return modelfake.Say("You have not told me your name.")
		case strings.HasPrefix(message, "What did I ask"):
			if m := firstQuestion.FindStringSubmatch(r.Last()); m != nil {
				return modelfake.Say("Your first question was: " + m[1])
			}
		case strings.HasPrefix(message, "What can"):
			return modelfake.Say("I answer questions from your library, and I can rewrite my answers.")
		case strings.HasPrefix(message, "thanks"):
			return modelfake.Say("You are welcome.")
		}
		return modelfake.Say("Hello! How can I help you?")
	},
	transform: func(r modelfake.Request) modelfake.Reply {
		_, request, _ := strings.Cut(r.Last(), "Request: ")
		switch {
		case strings.HasPrefix(request, "Rewrite"):
			return modelfake.Say(marked(r, "Masons from Bergen built the bridge in 1850 [Y][M]."))
		case strings.HasPrefix(request, "Translate"):
			return modelfake.Say(marked(r, "Maurer aus Bergen bauten die Brücke im Jahr 1850 [Y][M]."))
		}
		return modelfake.Say(marked(r,
			"| Fact | Source |\n|---|---|\n| Built in 1850 | [Y] |\n| Built by masons from Bergen | [M] |"))
	},
}

// dull is a model that follows no form: its plans, choices and judgements are prose.
func dull() brain {
	b := listener
	b.plan = says("I would think about it and then look around.")
	b.evidence = says("The first passage is good.")
	b.judge = says("Looks fine to me.")
	return b
}

func TestAPersonCanTalkToAnAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		format      modelfake.Format
		brain       brain
		unsupported []string
	}{
		{"OpenAI", modelfake.OpenAI, listener, nil},
		{"Anthropic", modelfake.Anthropic, listener, nil},
		{"without structured output", modelfake.OpenAI, dull(), []string{"response_format", "temperature"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := bridges(t)
			w.sender, w.options.NoJudge = everyone, false
			w.memories = []memory.Memory{{ID: "mem_1", Text: "I like primary sources."}, {ID: "mem_2", Text: "My name is Ada."}}
			s := w.fakeOf(c.format, c.brain)
			s.Unsupported = c.unsupported
			w.talk()
			for _, r := range s.Requests() {
				if stage(r) != "evidence" && stage(r) != "judge" && stage(r) != "summary" && len(passagesOf(r, "notes")) == 0 {
					t.Errorf("the %s is not told the memories", stage(r))
				}
			}
		})
	}
}

// talk holds the conversation of TestAPersonCanTalkToAnAgent.
func (w *fixture) talk() {
	t := w.t
	t.Helper()
	first := w.say("When was the old bridge built of stone, and by which masons?")
	searches := len(w.searches)
	if len(first.Citations) != 2 {
		t.Fatalf("the first answer cites %+v: %s", first.Citations, first.Text)
	}
	year, masons := "[1]", "[2]"
	if strings.Contains(first.Text, "1850 [2]") {
		year, masons = masons, year
	}
	for _, c := range []struct{ text, want string }{
		{"hello", "Hello! How can I help you?"},
		{"thanks!", "You are welcome."},
		{"What can you do?", "I answer questions from your library, and I can rewrite my answers."},
		{"What is my name?", "Your name is Ada."},
		{"What did I ask first?", "Your first question was: When was the old bridge built of stone, and by which masons?"},
		{"Rewrite your last answer in one sentence", "Masons from Bergen built the bridge in 1850 " + year + masons + "."},
		{"Translate it into German", "Maurer aus Bergen bauten die Brücke im Jahr 1850 " + year + masons + "."},
		{"Make a table of the two", "| Fact | Source |\n|---|---|\n| Built in 1850 | " + year +
			" |\n| Built by masons from Bergen | " + masons + " |"},
		{"Save the second paper to my favourites", "Saved to your favourites: " + first.Citations[1].Title},
		{"Forget that I like primary sources", "Forgotten: “I like primary sources.”"},
	} {
		got := w.say(c.text)
		if got.Text != c.want {
			t.Errorf("%q is answered %q", c.text, got.Text)
		}
		if strings.Contains(got.Text, "Nothing in") || len(w.searches) != searches || got.Partial {
			t.Errorf("%q searched, or is partial: %+v", c.text, got.Answer)
		}
		if strings.Contains(c.want, "[1]") {
			same := slices.EqualFunc(got.Citations, first.Citations, func(a, b thread.Citation) bool {
				return a.N == b.N && a.DocumentID == b.DocumentID && a.Quote == b.Quote && a.Start == b.Start
			})
			if !same || !slices.ContainsFunc(got.Checks, thread.Check.Backed) ||
				slices.ContainsFunc(got.Checks, thread.Check.Refuted) {
				t.Errorf("%q cites %+v, checked %+v", c.text, got.Citations, got.Checks)
			}
		}
		if c.text == "What is my name?" {
			used := slices.ContainsFunc(got.MemoriesUsed, func(m thread.UsedMemory) bool { return m.ID == "mem_2" })
			if !used || len(got.Checks) != 1 || got.Checks[0].State != thread.FromMemory {
				t.Errorf("used %+v, checked %+v", got.MemoriesUsed, got.Checks)
			}
		}
	}
	if len(w.favourites) != 1 || w.favourites[0].CardID != first.Citations[1].CardID {
		t.Errorf("the favourites are %+v", w.favourites)
	}
	if len(w.memories) != 1 || w.memories[0].ID != "mem_2" {
		t.Errorf("the memories are %+v", w.memories)
	}
}

func TestMemoriesReachTheModelInEveryKindOfTurn(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.memories = []memory.Memory{{ID: "mem_1", Text: "I write for children."}}
	w.recalled = []memory.Memory{}
	w.cited("Q", "It was built in 1850 [1].", w.docs[0], "The old bridge was built of stone in 1850.")
	for text, want := range map[string]bool{
		"hello": true, "Shorten it": true, "What can you do?": true, "Who am I?": true, aboutBridge: false,
	} {
		w.fake(brain{plan: planned(map[string]string{"Shorten it": "transformation", aboutBridge: "sources"}[text])})
		if got := w.ask(text); (len(got.MemoriesUsed) == 1) != want {
			t.Errorf("%q used %+v", text, got.MemoriesUsed)
		}
	}
}
