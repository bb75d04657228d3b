package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/otlp"
	"carrel/internal/outbound"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit/otlpfake"
)

// tracedApp returns an App that only traces, and a function that exports the spans and returns them by name.
func tracedApp(t *testing.T) (in *App, spans func() map[string]otlpfake.Span, c *otlpfake.Collector) {
	t.Helper()
	c = otlpfake.New(t)
	in = &App{Config: config.Config{Model: config.Model{API: "openai"}}}
	in.tracer = newTracer(config.OTLP{URL: c.URL, Sample: 1, Interval: time.Hour}, slog.New(slog.DiscardHandler))
	return in, func() map[string]otlpfake.Span {
		in.exportTelemetry(t.Context(), prometheus.NewRegistry())()
		out := map[string]otlpfake.Span{}
		for _, s := range c.Spans() {
			out[s.Name] = s
		}
		return out
	}, c
}

// request returns a context with the span of a request.
func (in *App) request(t *testing.T) (context.Context, *otlp.Span) {
	t.Helper()
	s := in.tracer.Start(otlp.SpanContext{}, "request", otlp.KindServer)
	return otlp.NewContext(t.Context(), s), s
}

func TestFirstAttemptBelongsToTheTraceOfTheRequest(t *testing.T) {
	t.Parallel()
	in, spans, _ := tracedApp(t)
	tracer := newTaskTracer(in.tracer)
	ctx, request := in.request(t)
	tracer.Submitted(ctx, task.Task{ID: "trn_1"})
	run := func(kind, id string, attempt int, o task.Outcome, ends bool) {
		ctx, end := tracer.StartRun(t.Context(), task.Task{
			ID: id, Kind: kind, Attempt: attempt, UserID: "usr_1", CredentialID: "key_1",
		})
		_, endStep := tracer.StartStep(ctx, 1, kind)
		endStep(fmt.Errorf("private: %w", core.NotFound("thread")))
		end(o, ends)
	}
	run("first", "trn_1", 1, task.Outcome{State: task.StateFailed, Code: "timeout"}, true)
	run("second", "trn_1", 2, task.Outcome{}, false)
	run("unknown", "trn_2", 1, task.Outcome{State: task.StateComplete}, true)
	all := spans()

	origin := request.Context()
	first, step := all["task first"], all["step first"]
	if first.TraceID != origin.TraceID.String() || first.ParentID != origin.SpanID.String() || !first.Failed ||
		first.Attributes["error.type"] != "timeout" || first.Attributes["carrel.task.state"] != "failed" ||
		first.Attributes["carrel.task.id"] != "trn_1" || first.Attributes["user.id"] != "usr_1" {
		t.Errorf("first attempt %+v", first)
	}
	if step.ParentID != first.SpanID || !step.Failed || step.Attributes["error.type"] != "not_found" {
		t.Errorf("step %+v", step)
	}
	second := all["task second"]
	if second.TraceID == first.TraceID || second.ParentID != "" || second.Failed ||
		!slices.Equal(second.Links, []string{origin.SpanID.String()}) ||
		second.Attributes["carrel.task.state"] != "interrupted" || second.Attributes["carrel.task.attempt"] != "2" {
		t.Errorf("second attempt %+v", second)
	}
	if u := all["task unknown"]; u.ParentID != "" || len(u.Links) != 0 {
		t.Errorf("task without a request %+v", u)
	}
}

func TestOnlyRecentRequestsAreRemembered(t *testing.T) {
	t.Parallel()
	in, _, _ := tracedApp(t)
	tracer := &taskTracer{tracer: in.tracer, origins: map[string]otlp.SpanContext{}}
	ctx, _ := in.request(t)
	for i := range 3 * maxOrigins {
		tracer.Submitted(ctx, task.Task{ID: strconv.Itoa(i)})
	}
	if len(tracer.origins) != maxOrigins || !tracer.originOf(strconv.Itoa(3*maxOrigins-1)).Valid() ||
		tracer.originOf("0").Valid() {
		t.Errorf("%d requests are remembered", len(tracer.origins))
	}
}

// scriptedChat yields the usage and then an error.
type scriptedChat struct{ model.Provider }

func (scriptedChat) Models() []string { return []string{"m-1"} }

func (scriptedChat) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		_ = yield(model.Usage{In: 7, Out: 3}, nil) && yield(nil, fmt.Errorf("private: %w", model.ErrRateLimited))
	}
}

type scriptedEngine struct{ source.Engine }

func (scriptedEngine) Search(context.Context, search.Query) (search.Result, error) {
	return search.Result{Hits: make([]search.Hit, 2)}, errors.New("private")
}

func TestCallsAreTracedWithoutTexts(t *testing.T) {
	t.Parallel()
	in, spans, c := tracedApp(t)
	ctx, request := in.request(t)
	for range in.traceModel(scriptedChat{}).Stream(ctx, model.Request{System: "private"}) {
		continue
	}
	_, _ = in.traceEngine(scriptedEngine{}).Search(ctx, search.Query{Text: "private", Sources: []string{"a", "b", "c"}})
	all := spans()
	chat := all["chat m-1"]
	if chat.ParentID != request.Context().SpanID.String() || chat.Kind != 3 ||
		chat.Attributes["gen_ai.usage.input_tokens"] != "7" || chat.Attributes["gen_ai.usage.output_tokens"] != "3" ||
		chat.Attributes["gen_ai.provider.name"] != "openai" || chat.Attributes["error.type"] != "rate_limited" {
		t.Errorf("chat %+v", chat)
	}
	if s := all["search"]; s.Attributes["carrel.search.sources"] != "3" || s.Attributes["carrel.search.hits"] != "2" ||
		s.Attributes["error.type"] != "internal" {
		t.Errorf("search %+v", s)
	}
	if strings.Contains(c.Text(), "private") {
		t.Errorf("a text is exported: %s", c.Text())
	}
}

func TestOtherServersDoNotLearnTheTrace(t *testing.T) {
	t.Parallel()
	in, spans, c := tracedApp(t)
	var got http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(other.Close)
	ctx, request := in.request(t)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, other.URL+"/private?q=private", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := in.newClient(outbound.Options{Private: true, Timeout: time.Minute}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if got.Get("traceparent") != "" || got.Get("tracestate") != "" {
		t.Errorf("sent headers %v", got)
	}
	call := spans()["GET"]
	if call.ParentID != request.Context().SpanID.String() || call.Attributes["server.address"] != "127.0.0.1" ||
		call.Attributes["http.response.status_code"] != "418" || strings.Contains(c.Text(), "private") {
		t.Errorf("call %+v", call)
	}
}

func TestWithoutACollectorNothingIsWrapped(t *testing.T) {
	t.Parallel()
	in := &App{tracer: newTracer(config.OTLP{Sample: 1}, slog.New(slog.DiscardHandler))}
	if in.tracer != nil || newTaskTracer(in.tracer) != nil {
		t.Error("a tracer exists")
	}
	if in.traceModel(scriptedChat{}) != (scriptedChat{}) || in.traceEngine(scriptedEngine{}) != (scriptedEngine{}) {
		t.Error("a service is wrapped")
	}
	if _, plain := in.newClient(outbound.Options{}).Transport.(*http.Transport); !plain {
		t.Error("a client is wrapped")
	}
}
