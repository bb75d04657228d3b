package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"carrel/internal/testkit/modelfake"
)

// newReporter returns a model that outlines a report of two sections and writes them from the first quote.
func newReporter(t *testing.T, format modelfake.Format) *scriptedModel {
	t.Helper()
	m := newScriptedModel(t, format)
	m.at["outline"] = func(modelfake.Request) modelfake.Reply {
		section := func(title, question string, queries ...string) map[string]any {
			return map[string]any{"title": title, "question": question, "queries": queries}
		}
		return says(map[string]any{"sections": []any{
			section("The loom", "What does the engine weave?", "analytical engine weaves loom"),
			section("The inventor", "Who made the engine analytical?", "engine inventor babbage"),
		}})
	}
	m.at["section"] = func(r modelfake.Request) modelfake.Reply {
		quote := quoteFence.FindStringSubmatch(r.Last())
		return modelfake.Say(fmt.Sprintf("One source tells of the engine and of looms [%s].", quote[1]))
	}
	return m
}

// research returns a call that starts a research turn.
func (w *installation) research(text string) call {
	c := w.message(text)
	c.body = fmt.Sprintf(`{"text": %q, "research": true}`, text)
	return c
}

func TestResearchReportIsStreamedCheckedAndCharged(t *testing.T) {
	t.Parallel()
	for _, format := range []modelfake.Format{modelfake.OpenAI, modelfake.Anthropic} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			m := newReporter(t, format)
			w := newLibraryWithModel(t, m, "CARREL_MODEL_PRICE_IN=1", "CARREL_MODEL_PRICE_OUT=2")
			sent := w.send(t, w.research(aboutLoom), http.StatusOK)
			text, labels := "", []string{}
			w.follow(t, func(e event) bool {
				if e.kind == "step" && e.text("state") == "started" {
					labels = append(labels, e.text("label"))
				}
				text += e.text("text")
				return e.kind != "done"
			})
			if final := sent.text("text"); text != final || !strings.HasPrefix(final, "## The loom\n\nOne source tells") ||
				!strings.Contains(final, "\n\n## The inventor\n\nOne source tells") {
				t.Errorf("streamed %q, and answered %q", text, final)
			}
			for _, label := range []string{
				"Outline: 2 sections: The loom; The inventor", "Section 1 of 2: The loom: choosing quotes",
				"Section 2 of 2: The inventor: writing",
			} {
				if !slices.Contains(labels, label) {
					t.Errorf("%q is not among the labels %q", label, labels)
				}
			}
			if sent.text("citations", 0, "quote") == "" || sent.text("sentences", 0, "verdict") != "talk" ||
				sent.text("sentences", 1, "verdict") != "cited" {
				t.Errorf("sent %v", sent.body)
			}
			read := w.do(t, "GET", w.inThread("/messages"), "")
			if cost, _ := read.at("messages", 1, "usage", "costMicros").(float64); cost <= 0 {
				t.Errorf("read %v", read.at("messages", 1, "usage"))
			}
		})
	}
}

// holdAfter holds the model calls after the first n until released is closed. They then get no reply, so they cost
// nothing. held receives a value for each of them.
func (m *scriptedModel) holdAfter(n int) (held, released chan struct{}) {
	held, released = make(chan struct{}, 64), make(chan struct{})
	var mu sync.Mutex
	asked := 0
	m.hold(func(string) bool {
		mu.Lock()
		asked++
		late := asked > n
		mu.Unlock()
		if late {
			held <- struct{}{}
			<-released
		}
		return !late
	})
	return held, released
}

// TestResearchCallsAreNotRepeatedAfterACrash kills the server with SIGKILL at every model call of a research turn.
func TestResearchCallsAreNotRepeatedAfterACrash(t *testing.T) {
	t.Parallel()
	m := newReporter(t, modelfake.OpenAI)
	whole := newLibraryWithModel(t, m)
	want := whole.send(t, whole.research(aboutLoom), http.StatusOK).text("text")
	paid := m.paidFor()
	for _, stage := range []string{"plan", "outline", "evidence", "section", "judge", "disagreements"} {
		if !slices.Contains(paid, stage) {
			t.Fatalf("paid for %q and answered %q", paid, want)
		}
	}
	for at := range paid {
		t.Run(fmt.Sprint("at ", at, " ", paid[at]), func(t *testing.T) {
			t.Parallel()
			m := newReporter(t, modelfake.OpenAI)
			held, released := m.holdAfter(at)
			w := newLibraryWithModel(t, m)
			w.send(t, w.research(aboutLoom).with("Prefer", "respond-async"), http.StatusAccepted)
			<-held // every stage before this call is in the journal
			w.server.Kill()
			m.hold(nil)
			close(released)
			w.server.Start()
			read := w.await(t)
			if read.text("messages", 1, "status") != "complete" || read.text("messages", 1, "text") != want {
				t.Errorf("ended %v, want %q", read.body, want)
			}
			if got := m.paidFor(); !slices.Equal(got, paid) {
				t.Errorf("paid for %q, want %q", got, paid)
			}
		})
	}
}

func TestCancelledResearchKeepsTheFinishedSections(t *testing.T) {
	t.Parallel()
	m := newReporter(t, modelfake.OpenAI)
	w := newLibraryWithModel(t, m)
	held, released := make(chan struct{}), make(chan struct{})
	defer close(released)
	sections := 0
	m.hold(func(stage string) bool {
		if stage == "section" {
			sections++
		}
		if sections < 2 {
			return true
		}
		close(held)
		<-released
		return false
	})
	w.send(t, w.research(aboutLoom).with("Prefer", "respond-async"), http.StatusAccepted)
	<-held
	// A polling client soon sees the section that is being written, and the text of the finished one. A step that takes
	// seconds has its duration in its label.
	working := w.pollUntil(t, func(read reply) bool {
		steps, _ := read.at("turn", "steps").([]any)
		return len(steps) > 0 && strings.HasPrefix(
			read.text("turn", "steps", len(steps)-1, "label"), "Section 2 of 2: The inventor: writing")
	})
	if text := working.text("turn", "partialText"); !strings.HasPrefix(text, "## The loom\n\nOne source tells") {
		t.Errorf("the text so far is %q", text)
	}
	if got := w.do(t, "POST", w.inThread("/cancel"), ""); got.at("cancelled") != true {
		t.Errorf("cancelled %v", got.body)
	}
	read := w.await(t)
	text := read.text("messages", 1, "text")
	if read.text("messages", 1, "status") != "cancelled" || read.at("messages", 1, "partial") != true ||
		read.text("messages", 1, "error", "code") != "cancelled" ||
		!strings.HasPrefix(text, "## The loom\n\nOne source tells") ||
		!strings.Contains(text, "## The inventor\n\nThis section was not written. Quotes from your sources:\n\n> ") ||
		!strings.HasSuffix(text, "This answer is partial: it was cancelled.") {
		t.Errorf("read %v", read.body)
	}
	if read.text("messages", 1, "citations", 0, "quote") == "" ||
		read.text("messages", 1, "sentences", 1, "verdict") == "" ||
		read.at("messages", 1, "usage") == nil {
		t.Errorf("read %v", read.body)
	}
	if paid := m.paidFor(); paid[len(paid)-1] == "disagreements" || len(paid) != len(m.Requests())-1 {
		t.Errorf("paid for %q of %d requests", paid, len(m.Requests()))
	}
}
