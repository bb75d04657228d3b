package research_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"carrel/internal/task"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/thread"
)

// faults are all possible defects of a model's answer.
func faults() map[string]func(modelfake.Reply) modelfake.Reply {
	out := map[string]func(modelfake.Reply) modelfake.Reply{
		"no usage":    func(r modelfake.Reply) modelfake.Reply { r.NoUsage = true; return r },
		"keep-alives": func(r modelfake.Reply) modelfake.Reply { r.KeepAlive, r.EmptyChoices = true, true; return r },
		"slow":        func(r modelfake.Reply) modelfake.Reply { r.Pause = 5 * time.Millisecond; return r },
		"half a character": func(r modelfake.Reply) modelfake.Reply {
			r.Text = append(r.Text, " \xe2", "\x82", "\xac\x00")
			return r
		},
		"too long": func(r modelfake.Reply) modelfake.Reply { r.Finish = "length"; return r },
		"refused":  func(r modelfake.Reply) modelfake.Reply { r.Finish = "content_filter"; return r },
		"empty":    func(modelfake.Reply) modelfake.Reply { return modelfake.Reply{} },
		"no stream": func(modelfake.Reply) modelfake.Reply {
			return modelfake.Reply{Body: "<html>hello</html>", ContentType: "text/html"}
		},
		"a call of a tool": func(modelfake.Reply) modelfake.Reply {
			return modelfake.Use(modelfake.Call{ID: "1", Name: "delete_everything", Arguments: `{"now":true}`})
		},
		"an error in the midst": func(r modelfake.Reply) modelfake.Reply {
			r.End, r.Code, r.Message = modelfake.Fails, "overloaded", "scripted"
			return r
		},
	}
	for name, end := range map[string]modelfake.End{
		"cut": modelfake.Cut, "unterminated": modelfake.Unterminated, "no reason": modelfake.NoReason,
		"broken":      modelfake.Broken,
		"broken late": modelfake.BrokenLate, "reset": modelfake.Reset, "hangs": modelfake.Hangs, "garbage": modelfake.Garbage,
	} {
		out[name] = func(r modelfake.Reply) modelfake.Reply { r.End = end; return r }
	}
	for _, status := range []int{400, 401, 402, 404, 413, 429, 500, 503, 529} {
		out[fmt.Sprint("status ", status)] = func(modelfake.Reply) modelfake.Reply { return modelfake.Refuse(status, "0") }
	}
	out["status 429 for long"] = func(modelfake.Reply) modelfake.Reply { return modelfake.Refuse(429, "3600") }
	return out
}

// faulty is a fixture whose model has a fault at one stage.
type faulty struct {
	*fixture
	name string
}

func newFaulty(t *testing.T, name, at string, fault func(modelfake.Reply) modelfake.Reply) faulty {
	w := bridges(t)
	w.options.Ordinary.Time = 3 * time.Second
	b := brain{answer: says("It was built in 1850 [1]. Masons did it [2].")}
	wrap := func(f func(modelfake.Request) modelfake.Reply) func(modelfake.Request) modelfake.Reply {
		return func(r modelfake.Request) modelfake.Reply { return fault(f(r)) }
	}
	switch at {
	case "plan":
		b.plan = wrap(plans("stone"))
	case "evidence":
		b.evidence = wrap(firstSentences)
	case "answer":
		b.answer = wrap(b.answer)
	case "repair":
		b.answer = says("It was built in 1860 [1]. Masons did it [2].")
		b.repair = wrap(says("It was built in 1850 [1]. Masons did it [2]."))
	}
	w.fake(b)
	return faulty{w, name + " in the " + at}
}

// judge checks the reply to a fault.
func (f faulty) judge(got reply) {
	f.holds(got)
	switch {
	case got.task.State != task.StateComplete || len(got.Citations) == 0:
		f.t.Errorf("%s: ended %s, %s: %s", f.name, got.task.State, got.task.ErrorDetail, got.Text)
	case strings.HasPrefix(got.Text, "It was built in 18"):
	case strings.HasPrefix(got.Text, "The model did not answer; these are quotes from your sources. ("):
	case strings.HasPrefix(got.Text, "This answer is partial, because time ran out. These are quotes") && got.Partial:
	default:
		f.t.Errorf("%s: %s", f.name, got.Text)
	}
	if f.purse.reserved != 0 {
		f.t.Errorf("%s: %d are left reserved", f.name, f.purse.reserved)
	}
	if got.Usage != nil && got.Usage.CostMicros != f.purse.spent {
		f.t.Errorf("%s: %d were spent, and %+v used", f.name, f.purse.spent, got.Usage)
	}
}

func TestEveryFaultOfAModelEndsInAnHonestReply(t *testing.T) {
	t.Parallel()
	var all []faulty
	var worlds []*fixture
	db := database(t)
	for name, fault := range faults() {
		for _, at := range []string{"plan", "evidence", "answer", "repair"} {
			f := newFaulty(t, name, at, fault)
			f.db = db
			all, worlds = append(all, f), append(worlds, f.fixture)
		}
	}
	// Most of them wait before they retry, so they run concurrently.
	e := worlds[0].engine(db, worlds...)
	ids := make([]string, len(all))
	for i, f := range all {
		ids[i] = f.submit(e, thread.Question{Text: aboutBridge})
	}
	for i, f := range all {
		f.judge(f.await(e, ids[i]))
	}
}

func TestReplacementOfAStreamedAnswerIsStreamed(t *testing.T) {
	t.Parallel()
	invented := "It was built in 1999 by nobody [1]. Really. "
	for name, b := range map[string]brain{
		"quotes": {answer: says(invented), repair: says(invented)},
		"repair": {answer: says(invented), repair: says("It was built in 1850 [1].")},
	} {
		for _, after := range []int{0, 6, 7, 8} {
			w := bridges(t)
			w.fake(b)
			var got reply
			if after == 0 {
				got = w.ask(aboutBridge)
			} else {
				got = w.killed(after, thread.Question{Text: aboutBridge})
			}
			if w.holds(got); got.shown != got.Text || strings.Contains(got.shown, "1999") {
				t.Errorf("%s, killed after %d: readers saw %q, and the reply is %q", name, after, got.shown, got.Text)
			}
		}
	}
}

func TestACharacterThatComesInHalvesIsShownWhole(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.fake(brain{answer: func(modelfake.Request) modelfake.Reply {
		return modelfake.Reply{
			Text: []string{
				"It cost 5 \xe2", "\x82", "\xac, they say, and na\xc3", "\xafve it was [1]", ". ", "It is of stone [1]. ",
			},
		}
	}, repair: says("")})
	if got := w.ask(aboutBridge); !utf8.ValidString(got.shown) || strings.Contains(got.shown+got.Text, "\uFFFD") ||
		!strings.Contains(got.Text+got.shown, "stone") {
		t.Errorf("readers saw %q, and the reply is %q", got.shown, got.Text)
	}
}

func TestAModelThatFailsWithNothingFoundFailsTheTurn(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.fake(brain{plan: func(modelfake.Request) modelfake.Reply { return modelfake.Refuse(401, "") }})
	got := w.ask("Penguins?")
	if got.task.State != task.StateFailed || got.task.ErrorCode != "model_failed" ||
		!strings.Contains(got.task.ErrorDetail, "CARREL_MODEL_API_KEY") {
		t.Errorf("ended %s, %s: %s", got.task.State, got.task.ErrorCode, got.task.ErrorDetail)
	}
}
