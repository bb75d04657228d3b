package research_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/task"
	"carrel/internal/testkit/modelfake"
)

// faults are all that can go wrong with an answer.
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
		"cut": modelfake.Cut, "unterminated": modelfake.Unterminated, "no reason": modelfake.NoReason, "broken": modelfake.Broken,
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

func TestEveryFaultOfAModelEndsInAnHonestReply(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for name, fault := range faults() {
		for _, at := range []string{"plan", "evidence", "answer", "repair"} {
			w := bridges(t)
			w.options.Ordinary.Time = 3 * time.Second
			var b brain
			wrap := func(f func(modelfake.Request) modelfake.Reply) func(modelfake.Request) modelfake.Reply {
				return func(r modelfake.Request) modelfake.Reply { return fault(f(r)) }
			}
			b.answer = says("It was built in 1850 [1]. Masons did it [2].")
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
			all.Go(func() {
				got := w.ask(aboutBridge)
				w.holds(got)
				switch {
				case got.task.State != task.StateComplete || len(got.Citations) == 0:
					t.Errorf("%s in the %s: ended %s, %s: %s", name, at, got.task.State, got.task.ErrorDetail, got.Text)
				case strings.HasPrefix(got.Text, "It was built in 18"):
				case strings.HasPrefix(got.Text, "The model did not answer; these are quotes from your sources. ("):
				case strings.HasPrefix(got.Text, "This answer is partial, because the time for it ran out. These are quotes") && got.Partial:
				default:
					t.Errorf("%s in the %s: %s", name, at, got.Text)
				}
				if w.purse.reserved != 0 {
					t.Errorf("%s in the %s: %d are left reserved", name, at, w.purse.reserved)
				}
				if got.Usage != nil && got.Usage.CostMicros != w.purse.spent {
					t.Errorf("%s in the %s: %d were spent, and %+v used", name, at, w.purse.spent, got.Usage)
				}
			})
		}
	}
	all.Wait()
}

func TestAModelThatFailsWithNothingFoundFailsTheTurn(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.fake(brain{plan: func(modelfake.Request) modelfake.Reply { return modelfake.Refuse(401, "") }})
	got := w.ask("Penguins?")
	if got.task.State != task.StateFailed || got.task.ErrorCode != "model_failed" || !strings.Contains(got.task.ErrorDetail, "CARREL_MODEL_API_KEY") {
		t.Errorf("ended %s, %s: %s", got.task.State, got.task.ErrorCode, got.task.ErrorDetail)
	}
}
