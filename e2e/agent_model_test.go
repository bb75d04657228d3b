package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
)

// scriptedModel is a fake model with scripted replies for the stages of a turn, and plausible replies for the others.
type scriptedModel struct {
	*modelfake.Server

	mu sync.Mutex
	// at holds the scripted replies by stage. before is called before every reply and may delay it; false means that no
	// reply is sent.
	at     map[string]func(modelfake.Request) modelfake.Reply
	before func(stage string) bool
	// paid are the stages whose reply was sent completely, in order.
	paid []string
}

func newScriptedModel(t *testing.T, format modelfake.Format) *scriptedModel {
	t.Helper()
	m := &scriptedModel{Server: modelfake.New(t, format), at: map[string]func(modelfake.Request) modelfake.Reply{}}
	m.Answer(func(r modelfake.Request) modelfake.Reply {
		stage := stageOf(r)
		m.mu.Lock()
		answer, before := m.at[stage], m.before
		m.mu.Unlock()
		if before != nil && !before(stage) {
			return modelfake.Reply{End: modelfake.Reset}
		}
		m.mu.Lock()
		m.paid = append(m.paid, stage)
		m.mu.Unlock()
		if answer != nil {
			return answer(r)
		}
		return sensible(stage, r)
	})
	return m
}

// env returns the settings with which a server calls the model.
func (m *scriptedModel) env(more ...string) []string {
	return append([]string{
		"CARREL_MODEL=" + string(m.Format), "CARREL_MODEL_BASE_URL=" + m.URL(),
		"CARREL_MODEL_API_KEY=" + m.Key, "CARREL_MODEL_NAME=fake-1",
	}, more...)
}

func (m *scriptedModel) paidFor() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.paid...)
}

func (m *scriptedModel) hold(before func(stage string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = before
}

// stageOf returns the stage of a request, which its response schema identifies.
func stageOf(r modelfake.Request) string {
	switch {
	case strings.Contains(string(r.Schema), `"sections"`):
		return "outline"
	case strings.Contains(string(r.Schema), `"disagreements"`):
		return "disagreements"
	case strings.Contains(string(r.Schema), `"queries"`):
		return "plan"
	case strings.Contains(string(r.Schema), `"evidence"`):
		return "evidence"
	case strings.Contains(string(r.Schema), `"verdict"`):
		return "judge"
	case strings.HasPrefix(r.System, "You correct"):
		return "repair"
	case strings.HasPrefix(r.System, "You write one section"):
		return "section"
	case strings.HasPrefix(r.System, "You are an assistant"):
		return "reply"
	case strings.HasPrefix(r.System, "You turn earlier answers"):
		return "transform"
	}
	return "answer"
}

var (
	passageFence = regexp.MustCompile(`(?s)<text-[A-Z2-7]+ kind="passage" number="(\d+)">\n.*?\n\n(.*?)\n</text-`)
	quoteFence   = regexp.MustCompile(`(?s)<text-[A-Z2-7]+ kind="quote" number="(\d+)">\n.*?\n\n(.*?)\n</text-`)
	firstOf      = regexp.MustCompile(`(?s)^.*?[.!?](?:\s|$)`)
)

// sensible replies like a good model: it searches for the question, quotes the first sentence of each passage, and
// answers from the first two quotes, the second of them verbatim.
func sensible(stage string, r modelfake.Request) modelfake.Reply {
	switch stage {
	case "plan":
		return says(map[string]any{"question": "", "queries": []any{}})
	case "evidence":
		list := []any{}
		for _, m := range passageFence.FindAllStringSubmatch(r.Last(), -1) {
			n, _ := strconv.Atoi(m[1]) // digits
			list = append(list,
				map[string]any{"passage": n, "quote": strings.TrimSpace(firstOf.FindString(m[2])), "relevance": 10 - n})
		}
		return says(map[string]any{"evidence": list})
	case "judge":
		return says(map[string]any{"sentences": []any{}})
	case "outline":
		return says(map[string]any{"sections": []any{}})
	case "disagreements":
		return says(map[string]any{"disagreements": []any{}})
	case "reply":
		return modelfake.Say("Hello. Ask me about the engine.")
	case "transform":
		return modelfake.Say("In short, the engine weaves patterns [1].")
	case "repair":
		return modelfake.Say("It weaves [1].")
	}
	text := "The engine weaves patterns, as one source says [1]."
	for _, m := range quoteFence.FindAllStringSubmatch(r.Last(), -1) {
		if m[1] == "2" {
			text += " " + strings.TrimRight(m[2], ". ") + " [2]."
		}
	}
	return modelfake.Say(text)
}

func says(v any) modelfake.Reply {
	b, _ := json.Marshal(v) // strings and numbers always marshal
	return modelfake.Say(string(b))
}

// newLibraryWithModel returns a library with a model and an empty thread.
func newLibraryWithModel(t *testing.T, m *scriptedModel, env ...string) *installation {
	t.Helper()
	w := newLibrary(t, testkit.ServerOptions{Env: m.env(env...)})
	w.add(t, "Works", englishWorks, "--default", "--language", "en")
	w.thread = w.do(t, "POST", w.below("/threads"), "").text("thread", "id")
	return w
}

// event is an event of a thread's stream.
type event struct {
	kind string
	reply
}

// follow reads the thread's stream from the beginning until a turn is done, the server is gone, or enough returns true.
func (w *installation) follow(t *testing.T, seen func(event) bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		w.server.URL+w.inThread("/events?until=done"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.key)
	req.Header.Set("Last-Event-ID", "0.0")
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	kind := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = name
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && kind != "" {
			if !seen(event{kind, decoded(t, []byte(data))}) {
				return
			}
		}
	}
}

const aboutLoom = "How does the analytical engine weave with a loom?"

func TestModelReplyIsStreamedCheckedAndCharged(t *testing.T) {
	t.Parallel()
	for _, format := range []modelfake.Format{modelfake.OpenAI, modelfake.Anthropic} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			m := newScriptedModel(t, format)
			// The first plan is incomplete, so a second round of searches follows.
			rounds := 0
			m.at["plan"] = func(r modelfake.Request) modelfake.Reply {
				if rounds++; rounds == 1 {
					return sensible("plan", r)
				}
				return says(map[string]any{
					"question": "",
					"queries":  []any{map[string]any{"query": "flowers babbage letters", "source": 0, "fromYear": 0, "toYear": 0}},
				})
			}
			m.at["evidence"] = func(r modelfake.Request) modelfake.Reply {
				if rounds == 1 {
					return says(map[string]any{"evidence": []any{map[string]any{
						"passage": 1,
						"quote": "The Analytical Engine weaves algebraic patterns just as the Jacquard loom weaves flowers and " +
							"leaves.",
						"relevance": 9,
					}}})
				}
				return sensible("evidence", r)
			}
			w := newLibraryWithModel(t, m, "CARREL_MODEL_PRICE_IN=1", "CARREL_MODEL_PRICE_OUT=2")
			sent := w.do(t, "POST", w.inThread("/messages"), fmt.Sprintf(`{"text": %q}`, aboutLoom))
			if got, want := strings.Join(m.paidFor(), " "), "plan evidence plan evidence plan answer judge"; got != want {
				t.Errorf("paid for %q, want %q", got, want)
			}
			var steps []string
			text := ""
			w.follow(t, func(e event) bool {
				if e.kind == "step" && e.text("state") == "started" {
					steps = append(steps, e.text("kind"))
				}
				text += e.text("text")
				return e.kind != "done"
			})
			if got, want := strings.Join(
				steps, " ",
			), "prepare plan search read evidence plan search read evidence plan answer check judge"; got != want {
				t.Errorf("the steps are %q, want %q", got, want)
			}
			if final := sent.text("text"); final == "" || text != final ||
				!strings.HasPrefix(final, "The engine weaves patterns") {
				t.Errorf("streamed %q, and answered %q", text, final)
			}
			if sent.text("citations", 1, "quote") == "" || sent.text("sentences", 0, "verdict") != "cited" {
				t.Errorf("sent %v", sent.body)
			}
			read := w.do(t, "GET", w.inThread("/messages"), "")
			if cost, _ := read.at("messages", 1, "usage", "costMicros").(float64); cost <= 0 {
				t.Errorf("read %v", read.at("messages", 1, "usage"))
			}
		})
	}
}

// turnStages are the stages of a turn without a second search; asking are the stages that call the model.
var (
	turnStages = []string{"prepare", "plan", "search", "read", "evidence", "plan", "answer", "check", "judge"}
	asking     = []string{"plan", "evidence", "plan", "answer", "judge"}
)

func TestModelCallsAreNotRepeatedAfterACrash(t *testing.T) {
	t.Parallel()
	for at := range turnStages {
		t.Run("after "+turnStages[at], func(t *testing.T) {
			t.Parallel()
			m := newScriptedModel(t, modelfake.OpenAI)
			// The model replies to the stages before the kill. Later calls are held until the server is gone and get no reply,
			// so they cost nothing.
			allowed := 0
			for _, stage := range turnStages[:at+1] {
				if slices.Contains(asking, stage) {
					allowed++
				}
			}
			killed, held, asked := make(chan struct{}), make(chan struct{}, 8), 0
			var mu sync.Mutex
			m.hold(func(string) bool {
				mu.Lock()
				asked++
				late := asked > allowed
				mu.Unlock()
				if !late {
					return true
				}
				held <- struct{}{}
				<-killed
				return false
			})
			w := newLibraryWithModel(t, m)
			w.send(t, w.message(aboutLoom).with("Prefer", "respond-async"), http.StatusAccepted)
			if allowed == len(asking) {
				// An event is sent when it is stored, and with it the end of its stage.
				w.follow(t, func(e event) bool {
					return e.kind != "done" && (e.text("kind") != turnStages[at] || e.text("state") == "started")
				})
			} else {
				<-held // every stage up to this call is in the journal
			}
			w.server.Kill()
			m.hold(nil)
			close(killed)
			w.server.Start()
			read := w.await(t)
			if got := read.text("messages", 1, "status"); got != "complete" ||
				!strings.HasPrefix(read.text("messages", 1, "text"), "The engine weaves patterns") {
				t.Errorf("ended %v", read.body)
			}
			if got := strings.Join(m.paidFor(), " "); got != strings.Join(asking, " ") {
				t.Errorf("paid for %q", got)
			}
		})
	}
}

// await polls until the turn of the thread has ended.
func (w *installation) await(t *testing.T) reply {
	t.Helper()
	return w.pollUntil(t, func(read reply) bool { return read.text("status") != "working" })
}

// pollUntil polls the thread until a reply is as wanted. The server answers when the thread changes.
func (w *installation) pollUntil(t *testing.T, wanted func(reply) bool) reply {
	t.Helper()
	tag := ""
	for {
		poll := call{method: "GET", path: w.inThread("/messages"), key: w.key}.with("Prefer", "wait=5")
		if tag != "" {
			poll = poll.with("If-None-Match", tag)
		}
		status, read := w.try(t, poll)
		switch {
		case status == http.StatusNotModified:
		case status != http.StatusOK:
			t.Fatalf("poll the thread: status %d: %v", status, read.body)
		case wanted(read):
			return read
		default:
			tag = read.header.Get("ETag")
		}
		if err := context.Cause(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTurnThatReachesTheSpendCapIsPartial(t *testing.T) {
	t.Parallel()
	m := newScriptedModel(t, modelfake.OpenAI)
	m.at["evidence"] = func(r modelfake.Request) modelfake.Reply {
		reply := sensible("evidence", r)
		reply.In, reply.Out = 1000, 2000 // 0.20 USD at 100 USD per million tokens
		return reply
	}
	w := newLibraryWithModel(t, m, "CARREL_MODEL_PRICE_IN=1", "CARREL_MODEL_PRICE_OUT=100")
	w.admin(t, "spend", "set", "--user", "ada@example.org", "--cap", "0.30")
	sent := w.do(t, "POST", w.inThread("/messages"), fmt.Sprintf(`{"text": %q}`, aboutLoom))
	if sent.at("partial") != true || !strings.Contains(sent.text("text"), "because the spending cap was reached") ||
		sent.text("citations", 0, "quote") == "" {
		t.Errorf("sent %v", sent.body)
	}
	if got := strings.Join(m.paidFor(), " "); got != "plan evidence plan" {
		t.Errorf("paid for %q", got)
	}
}

func TestModelErrorsAreReportedByCause(t *testing.T) {
	t.Parallel()
	m := newScriptedModel(t, modelfake.OpenAI)
	w := newLibraryWithModel(t, m)
	for name, tc := range map[string]struct {
		reply  modelfake.Reply
		status int
		code   string
	}{
		"a bad key":        {modelfake.Refuse(401, ""), http.StatusBadGateway, "model_failed"},
		"no money":         {modelfake.Refuse(402, ""), http.StatusBadGateway, "model_failed"},
		"an unknown model": {modelfake.Refuse(404, ""), http.StatusBadGateway, "model_failed"},
		"a bad request":    {modelfake.Refuse(400, ""), http.StatusBadGateway, "model_failed"},
		"too many":         {modelfake.Refuse(429, "3600"), http.StatusBadGateway, "model_failed"},
		"no stream": {
			modelfake.Reply{Body: "<html>", ContentType: "text/html"}, http.StatusBadGateway, "model_failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m.mu.Lock()
			m.at["plan"] = func(modelfake.Request) modelfake.Reply { return tc.reply }
			m.mu.Unlock()
			w.thread = w.do(t, "POST", w.below("/threads"), "").text("thread", "id")
			// The search finds nothing, so there are no quotes to fall back to.
			w.problem(t, w.message("Penguins?"), tc.status, tc.code)
			// The reply quotes the search results and names the reason.
			sent := w.do(t, "POST", w.inThread("/messages"), fmt.Sprintf(`{"text": %q}`, aboutLoom))
			if !strings.HasPrefix(sent.text("text"), "The model did not answer; these are quotes from your sources. (") ||
				sent.text("citations", 0, "quote") == "" {
				t.Errorf("sent %v", sent.body)
			}
		})
	}
}

func TestBrokenModelStreamIsRetriedOrReported(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]modelfake.End{
		"cut": modelfake.Cut, "broken": modelfake.Broken, "reset": modelfake.Reset,
		"garbage": modelfake.Garbage, "an error": modelfake.Fails,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newScriptedModel(t, modelfake.OpenAI)
			m.at["answer"] = func(modelfake.Request) modelfake.Reply {
				reply := modelfake.Say("The engine weaves patterns, as one source says [1]. Another")
				reply.End, reply.Code, reply.Message = end, "overloaded", "scripted"
				return reply
			}
			w := newLibraryWithModel(t, m)
			sent := w.do(t, "POST", w.inThread("/messages"), fmt.Sprintf(`{"text": %q}`, aboutLoom))
			if sent.at("partial") != true ||
				!strings.HasSuffix(sent.text("text"), "This answer is partial: the model's answer broke off.") {
				t.Errorf("sent %v", sent.body)
			}
		})
	}
}

func TestAgentUsesOnlyModelsThatTheOperatorAllows(t *testing.T) {
	t.Parallel()
	m := newScriptedModel(t, modelfake.OpenAI)
	m.Models = append(m.Models, "fake-2")
	w := newLibraryWithModel(t, m, "CARREL_MODEL_ALLOWED=fake-2")
	listed := w.do(t, "GET", "/api/agents", "")
	if listed.text("models", 0) != "fake-1" || listed.text("models", 1) != "fake-2" || listed.at("models", 2) != nil {
		t.Errorf("listed %v", listed.at("models"))
	}
	change := call{method: "PATCH", path: "/api/agents/" + w.agent, key: w.key, body: `{"model": "fake-3"}`}
	refused := w.send(t, change, http.StatusBadRequest)
	if refused.text("errors", 0, "pointer") != "/model" ||
		refused.text("errors", 0, "detail") != "Must be empty or one of: fake-1, fake-2." {
		t.Errorf("refused with %v", refused.body)
	}
	w.do(t, "PATCH", "/api/agents/"+w.agent, `{"model": "fake-2"}`)
	w.do(t, "POST", w.inThread("/messages"), fmt.Sprintf(`{"text": %q}`, aboutLoom))
	for _, r := range m.Requests() {
		if r.Model != "fake-2" {
			t.Errorf("%s was asked", r.Model)
		}
	}
	if got := w.do(t, "GET", w.inThread("/messages"), "").text("messages", 1, "usage", "model"); got != "fake-2" {
		t.Errorf("the usage is of %q", got)
	}
}
