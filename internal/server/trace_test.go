package server_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/core"
	"carrel/internal/otlp"
	"carrel/internal/server"
	"carrel/internal/testkit/otlpfake"
)

// traced returns a server with the routes whose requests are exported to the collector at the end.
func traced(t *testing.T, c *otlpfake.Collector, o server.Options) (h harness, flush func()) {
	t.Helper()
	o.Tracer = otlp.New(otlp.Options{URL: c.URL, Sample: 1, Delay: time.Hour, Log: slog.New(slog.DiscardHandler)})
	return newServer(t, o), func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o.Tracer.Run(ctx, prometheus.NewRegistry())
	}
}

func TestRequestIsTraced(t *testing.T) {
	t.Parallel()
	const trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	c := otlpfake.New(t)
	h, flush := traced(t, c, routes(map[string]http.HandlerFunc{
		"POST /things/{id}": func(w http.ResponseWriter, r *http.Request) {
			_ = server.Admit(r.Context(), core.Actor{UserID: "usr_1", CredentialID: "key_1"})
			_, child := otlp.Start(context.WithoutCancel(r.Context()), "child", otlp.KindInternal)
			child.End()
			w.WriteHeader(http.StatusAccepted)
		},
		"GET /broken": func(http.ResponseWriter, *http.Request) { panic("as the test says") },
		"/any":        ok,
	}))
	h.do("POST", "/things/7?q=private-query", header("traceparent", "00-"+trace+"-"+caller+"-01"),
		header("Authorization", "Bearer private-key"), header("Cookie", "private-cookie"), header("User-Agent", "test/1"))
	h.do("GET", "/broken")
	h.do("BREW", "/any")
	h.do("GET", "/private-path")
	h.do("GET", "/healthz")
	h.do("POST", "/things/8", header("traceparent", "00-"+trace+"-"+caller+"-00"))
	flush()

	spans := map[string]otlpfake.Span{}
	for _, s := range c.Spans() {
		spans[s.Name] = s
	}
	got := spans["POST /things/{id}"]
	for name, want := range map[string]string{
		"http.request.method": "POST", "http.route": "/things/{id}", "http.response.status_code": "202",
		"user.id": "usr_1", "carrel.credential.id": "key_1", "user_agent.original": "test/1",
	} {
		if got.Attributes[name] != want {
			t.Errorf("%s is %q, want %q", name, got.Attributes[name], want)
		}
	}
	if got.TraceID != trace || got.ParentID != caller || got.Kind != 2 || got.Failed {
		t.Errorf("request %+v", got)
	}
	if child := spans["child"]; child.TraceID != trace || child.ParentID != got.SpanID {
		t.Errorf("child %+v", child)
	}
	if b := spans["GET /broken"]; !b.Failed || b.Attributes["error.type"] != "500" || b.ParentID != "" {
		t.Errorf("broken %+v", b)
	}
	if b := spans["HTTP /any"]; b.Attributes["http.request.method"] != "_OTHER" {
		t.Errorf("unknown method %+v", b)
	}
	if _, exists := spans["GET"]; !exists || len(c.Spans()) != 5 {
		t.Errorf("spans %v: want the five sampled requests and no probe", spans)
	}
	if strings.Contains(c.Text(), "private") {
		t.Errorf("a secret, a query or a path is exported: %s", c.Text())
	}
	lines := h.lines(t, "request")
	if first := lines[0]; first["traceId"] != trace {
		t.Errorf("log line %v", first)
	}
	if last := lines[len(lines)-1]; last["traceId"] != trace {
		t.Errorf("log line of a request that is not sampled: %v", last)
	}
}

// The number was measured before requests were traced. It must not grow for servers without a collector.
func TestRequestWithoutATracerAllocatesNothingMore(t *testing.T) {
	body := []byte("fine")
	h := newServer(t, routes(map[string]http.HandlerFunc{"GET /api/agents": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(body)
	}}), "CARREL_LOG_LEVEL", "warn")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/api/agents?limit=50", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.RequestURI, r.RemoteAddr = "/api/agents?limit=50", "192.0.2.1:4711"
	r.Header.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	w := &nullWriter{h: http.Header{}}
	if n := testing.AllocsPerRun(1000, func() {
		clear(w.h)
		h.Handler().ServeHTTP(w, r)
	}); n > 5 {
		t.Errorf("%v allocations, want 5", n)
	}
	if lines := h.log.String(); strings.Contains(lines, "traceId") {
		t.Errorf("log %s", lines)
	}
}
