package e2e

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/testkit/otlpfake"
)

// The ids of a caller's span.
const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
)

func TestTraceOfATurnLeadsFromTheRequestToTheModel(t *testing.T) {
	t.Parallel()
	c := otlpfake.New(t)
	headers := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(headers, []byte("X-Collector-Key: hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newLibraryWithModel(t, newScriptedModel(t, modelfake.OpenAI), "CARREL_OTLP_URL="+c.URL,
		"CARREL_OTLP_HEADERS_FILE="+headers, "CARREL_OTLP_INTERVAL=1s")
	w.send(t, w.message(aboutLoom).with("traceparent", "00-"+callerTrace+"-"+callerSpan+"-01"), http.StatusOK)

	inTrace := func(name string) func(otlpfake.Span) bool {
		return func(s otlpfake.Span) bool { return s.TraceID == callerTrace && strings.HasPrefix(s.Name, name) }
	}
	request := c.Find(t, "the request", inTrace("POST /api/agents/{agentId}/threads/{threadId}/messages"))
	if request.ParentID != callerSpan || request.Attributes["user.id"] != w.user ||
		!strings.HasPrefix(request.Attributes["carrel.credential.id"], "crd_") {
		t.Errorf("request %+v", request)
	}
	turn := c.Find(t, "the turn", inTrace("task turn"))
	if turn.ParentID != request.SpanID || turn.Attributes["carrel.task.state"] != "complete" ||
		turn.Attributes["carrel.task.attempt"] != "1" {
		t.Errorf("turn %+v", turn)
	}
	parents := map[string]string{}
	var search, chat otlpfake.Span
	c.Await(t, "a search and a call of the model in steps of the turn", func() bool {
		for _, s := range c.Spans() {
			if inTrace("step ")(s) {
				parents[s.SpanID] = s.ParentID
			}
		}
		for _, s := range c.Spans() {
			switch {
			case inTrace("search")(s) && parents[s.ParentID] == turn.SpanID:
				search = s
			case inTrace("chat ")(s) && parents[s.ParentID] == turn.SpanID:
				chat = s
			}
		}
		return search.SpanID != "" && chat.SpanID != ""
	})
	if chat.Attributes["gen_ai.usage.output_tokens"] == "" || search.Attributes["carrel.search.sources"] != "1" {
		t.Errorf("search %+v, chat %+v", search, chat)
	}
	// The metrics of the collector are those of Prometheus.
	c.Await(t, "the metrics", func() bool {
		all := c.Metrics()
		finished, duration := all["carrel_tasks_finished_total"], all["carrel_http_request_duration_seconds"]
		return finished.Type == "sum" && len(finished.Points) == 3 && duration.Type == "histogram"
	})
	if !strings.Contains(w.server.Log(), `"traceId":"`+callerTrace+`"`) {
		t.Error("the request log has no traceId")
	}
	w.server.Stop()
	for what, secret := range map[string]string{"key": w.key, "question": "analytical engine", "header": "hunter2"} {
		if strings.Contains(c.Text(), secret) || what == "header" && strings.Contains(w.server.Log(), secret) {
			t.Errorf("the %s is exported or logged", what)
		}
	}
	if c.Header().Get("X-Collector-Key") != "hunter2" {
		t.Errorf("headers %v", c.Header())
	}
}

// TestSpansAreFlushedAtShutdown stops the server before the spans of its last request are due.
func TestSpansAreFlushedAtShutdown(t *testing.T) {
	t.Parallel()
	c := otlpfake.New(t)
	s := testkit.StartServer(t, testkit.ServerOptions{Env: []string{"CARREL_OTLP_URL=" + c.URL}})
	_ = testkit.Status(t, s.URL+"/api/agents")
	s.Stop()
	if n := len(c.Spans()); n == 0 || len(c.Metrics()) == 0 {
		t.Errorf("%d spans and %d metrics", n, len(c.Metrics()))
	}
}

// TestCollectorThatDoesNotAnswerAffectsNoRequest has a collector that accepts connections and stays silent.
func TestCollectorThatDoesNotAnswerAffectsNoRequest(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	dead := testkit.ReserveAddr(t)
	for name, addr := range map[string]string{"silent": silent.Addr().String(), "dead": dead} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLibrary(t, testkit.ServerOptions{Env: []string{"CARREL_OTLP_URL=http://" + addr}})
			w.thread = w.do(t, "POST", w.below("/threads"), "").text("thread", "id")
			for range 20 {
				w.do(t, "GET", w.below(""), "")
			}
			w.send(t, w.message("hello"), http.StatusOK)
			const line = "sending to the OTLP collector failed"
			for deadline := time.Now().Add(testkit.Patience); !strings.Contains(w.server.Log(), line); {
				if time.Now().After(deadline) {
					t.Fatal("the failure is not in the log")
				}
				time.Sleep(10 * time.Millisecond)
			}
			w.do(t, "GET", w.below(""), "")
			w.server.Stop()
			// One line for the traces, and one for the metrics of the shutdown.
			if n := strings.Count(w.server.Log(), line); n > 2 {
				t.Errorf("%d lines in the log", n)
			}
		})
	}
}
