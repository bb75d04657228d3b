package otlp_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/otlp"
	"carrel/internal/testkit"
	"carrel/internal/testkit/otlpfake"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// exported is a tracer that exports to a collector, with its log.
type exported struct {
	*otlp.Tracer
	registry *prometheus.Registry
	log      *testkit.Log
	// stop ends the export and waits for the rest.
	stop func()
}

// start runs a tracer until the end of the test. Without options it exports all spans soon.
func start(t *testing.T, url string, change ...func(*otlp.Options)) *exported {
	t.Helper()
	x := &exported{registry: prometheus.NewRegistry(), log: &testkit.Log{}}
	o := otlp.Options{
		URL: url, Sample: 1, Interval: time.Hour, Delay: time.Millisecond, Backoff: time.Millisecond,
		Version: "1.2.3", Host: "host-1", Log: slog.New(slog.NewTextHandler(x.log, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	x.Tracer = otlp.New(o)
	x.registry.MustRegister(x.Collectors()...)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.Run(ctx, x.registry)
	}()
	x.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(x.stop)
	return x
}

// value returns the value of a counter.
func (x *exported) value(t *testing.T, name string) float64 {
	t.Helper()
	families, err := x.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

const droppedSpans = "carrel_otlp_spans_dropped_total"

func named(name string) func(otlpfake.Span) bool {
	return func(s otlpfake.Span) bool { return s.Name == name }
}

func TestSpansAreExportedWithParentsAttributesAndLinks(t *testing.T) {
	t.Parallel()
	c := otlpfake.New(t)
	x := start(t, c.URL, func(o *otlp.Options) { o.Headers = map[string][]string{"X-Key": {"secret"}} })
	remote, _ := otlp.ParseTraceparent(traceparent)
	request := x.Start(remote, "request", otlp.KindServer)
	ctx, child := otlp.Start(otlp.NewContext(t.Context(), request), "child", otlp.KindInternal)
	_, grandchild := otlp.Start(ctx, "grandchild", otlp.KindClient)
	child.Set(otlp.String("text", "a \xff \"b\""), otlp.Int("number", -7))
	child.Link(remote)
	child.Fail("timeout")
	grandchild.End()
	child.End()
	child.End()
	child.Set(otlp.String("late", "x"))
	request.SetName("renamed")
	request.End()

	got := c.Find(t, "the request", named("renamed"))
	if got.TraceID != traceID || got.ParentID != spanID || got.Kind != 2 || got.Failed {
		t.Errorf("request %+v", got)
	}
	second := c.Find(t, "the child", named("child"))
	if second.TraceID != traceID || second.ParentID != got.SpanID || !second.Failed || len(second.Links) != 1 ||
		second.Links[0] != spanID || second.Attributes["number"] != "-7" || second.Attributes["text"] != "a \ufffd \"b\"" ||
		second.Attributes["error.type"] != "timeout" || len(second.Attributes) != 3 {
		t.Errorf("child %+v", second)
	}
	third := c.Find(t, "the grandchild", named("grandchild"))
	if third.ParentID != second.SpanID || third.Kind != 3 || third.Start.Before(second.Start) ||
		third.End.After(second.End) {
		t.Errorf("grandchild %+v of %+v", third, second)
	}
	// Spans are sent in order, so a child that ended twice would have arrived before this span.
	x.Start(remote, "last", otlp.KindInternal).End()
	c.Find(t, "the last span", named("last"))
	if n := len(c.Spans()); n != 4 {
		t.Errorf("%d spans, want 4: a span ends once", n)
	}
	if r := c.Resource(); r["service.name"] != "carrel" || r["service.version"] != "1.2.3" || r["host.name"] != "host-1" ||
		r["service.instance.id"] == "" || c.Header().Get("X-Key") != "secret" {
		t.Errorf("resource %v, headers %v", r, c.Header())
	}
}

func TestSamplingIsDecidedByTheParentOrTheRatio(t *testing.T) {
	t.Parallel()
	tracer := func(ratio float64) *otlp.Tracer {
		return otlp.New(otlp.Options{URL: "http://127.0.0.1:1", Sample: ratio, Log: slog.New(slog.DiscardHandler)})
	}
	const n = 20_000
	for _, ratio := range []float64{0, 0.25, 1} {
		sampled, root := 0, tracer(ratio)
		for range n {
			if root.Start(otlp.SpanContext{}, "root", otlp.KindServer).Recording() {
				sampled++
			}
		}
		// The standard deviation is 61; a failure by chance is less likely than one in 10^20.
		if ratio == 0 && sampled != 0 || ratio == 0.25 && (sampled < n/4-600 || sampled > n/4+600) ||
			ratio == 1 && sampled != n {
			t.Errorf("ratio %v: %d of %d are sampled", ratio, sampled, n)
		}
	}
	yes, _ := otlp.ParseTraceparent(traceparent)
	no := yes
	no.Sampled = false
	if !tracer(0).Start(yes, "s", otlp.KindServer).Recording() || tracer(1).Start(no, "s", otlp.KindServer).Recording() {
		t.Error("the decision of the parent is ignored")
	}
	unsampled := tracer(1).Start(no, "s", otlp.KindServer)
	ctx := otlp.NewContext(t.Context(), unsampled)
	if got, child := otlp.Start(ctx, "child", otlp.KindInternal); child != nil || got != ctx {
		t.Error("a trace that is not sampled has a child")
	}
	if unsampled.Context().TraceID != yes.TraceID || unsampled.Context().Sampled {
		t.Errorf("a span that is not sampled is %+v", unsampled.Context())
	}
}

// A server without a collector must not pay for traces.
func TestNothingIsAllocatedWithoutATracer(t *testing.T) {
	var none *otlp.Tracer
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		root := none.Start(otlp.SpanContext{}, "root", otlp.KindServer)
		root.End()
		ctx, span := otlp.Start(ctx, "child", otlp.KindInternal)
		span.Set(otlp.String("a", "b"), otlp.Int("c", 1))
		span.SetName("d")
		span.Fail("e")
		span.Link(otlp.FromContext(ctx).Context())
		span.End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkSpan measures a child span with two attributes: exported, not sampled, and without a tracer.
func BenchmarkSpan(b *testing.B) {
	tracer := otlp.New(otlp.Options{URL: "http://127.0.0.1:1", Sample: 1, Queue: 1, Log: slog.New(slog.DiscardHandler)})
	no, _ := otlp.ParseTraceparent(traceparent)
	no.Sampled = false
	for name, parent := range map[string]*otlp.Span{
		"exported":  tracer.Start(otlp.SpanContext{}, "root", otlp.KindServer),
		"unsampled": tracer.Start(no, "root", otlp.KindServer),
		"off":       nil,
	} {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context()
			if parent != nil {
				ctx = otlp.NewContext(ctx, parent)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, span := otlp.Start(ctx, "child", otlp.KindInternal)
				span.Set(otlp.String("a", "b"), otlp.Int("c", 1))
				span.End()
			}
		})
	}
}
