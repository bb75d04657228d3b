package otlp_test

import (
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/otlp"
	"carrel/internal/testkit/otlpfake"
)

// end ends a new span.
func (x *exported) end(name string) {
	x.Start(otlp.SpanContext{}, name, otlp.KindInternal).End()
}

// await waits for a condition.
func await(t *testing.T, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition is not reached")
		}
	}
}

// reply returns a handler that replies with a status, headers and a body.
func reply(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestMetricsAreConverted(t *testing.T) {
	t.Parallel()
	c := otlpfake.New(t)
	x := start(t, c.URL, func(o *otlp.Options) { o.Interval = 10 * time.Millisecond })
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "a_total", Help: "A."}, []string{"kind"})
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "b"}, []string{"special"})
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "c", Buckets: []float64{1, 2, 5}})
	summary := prometheus.NewSummary(prometheus.SummaryOpts{Name: "d", Objectives: map[float64]float64{0.5: 0.1}})
	empty := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "e"}, []string{"x"})
	counter.WithLabelValues("x").Add(3)
	gauge.WithLabelValues("no").Set(-1.5)
	gauge.WithLabelValues("nan").Set(math.NaN())
	gauge.WithLabelValues("infinite").Set(math.Inf(-1))
	for _, v := range []float64{0.5, 1, 1.5, 100} {
		histogram.Observe(v)
	}
	x.registry.MustRegister(counter, gauge, histogram, summary, empty)
	var all map[string]otlpfake.Metric
	c.Await(t, "the metrics", func() bool {
		all = c.Metrics()
		return len(all["d"].Points) == 1
	})
	if a := all["a_total"]; a.Type != "sum" || len(a.Points) != 1 || a.Points[0].Value != 3 ||
		a.Points[0].Attributes["kind"] != "x" || a.Points[0].Start.After(a.Points[0].Time) {
		t.Errorf("counter %+v", a)
	}
	values := map[string]float64{}
	for _, p := range all["b"].Points {
		values[p.Attributes["special"]] = p.Value
	}
	if all["b"].Type != "gauge" || values["no"] != -1.5 || !math.IsNaN(values["nan"]) ||
		!math.IsInf(values["infinite"], -1) {
		t.Errorf("gauge %+v", all["b"])
	}
	if h := all["c"]; h.Type != "histogram" || h.Points[0].Count != 4 || h.Points[0].Value != 103 ||
		!slices.Equal(h.Points[0].Buckets, []int64{2, 1, 0, 1}) || !slices.Equal(h.Points[0].Bounds, []float64{1, 2, 5}) {
		t.Errorf("histogram %+v", h)
	}
	if _, exists := all["e"]; exists || all["d"].Type != "summary" {
		t.Errorf("summary %+v, all %v", all["d"], all)
	}
	// The metrics of the last moment are exported too.
	counter.WithLabelValues("x").Add(4)
	x.stop()
	if got := c.Metrics()["a_total"].Points[0].Value; got != 7 {
		t.Errorf("the counter is %v at the end", got)
	}
}

// The backoff of an hour shows that the pause is the one that the collector asks for.
func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	c := otlpfake.New(t, reply(http.StatusServiceUnavailable, "", "Retry-After", "1"),
		reply(http.StatusTooManyRequests, "", "Retry-After", "1"))
	x := start(t, c.URL, func(o *otlp.Options) { o.Backoff = time.Hour })
	x.end("a")
	c.Find(t, "the span", named("a"))
	if n := c.Requests(); n != 3 {
		t.Errorf("%d requests", n)
	}
	if d := x.value(t, droppedSpans); d != 0 {
		t.Errorf("%v spans are dropped", d)
	}
}

func TestOnlyFailuresThatMayPassAreRetried(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 404, 413, 500} {
		c := otlpfake.New(t, reply(status, ""))
		x := start(t, c.URL)
		x.end("lost")
		c.Await(t, "the first span", func() bool { return x.value(t, droppedSpans) == 1 })
		x.end("next")
		c.Find(t, "the next span", named("next"))
		if n := c.Requests(); n != 2 || slices.ContainsFunc(c.Spans(), named("lost")) {
			t.Errorf("status %d: %d requests, spans %v", status, n, c.Spans())
		}
	}
	passing := []http.HandlerFunc{reply(429, ""), reply(502, ""), reply(503, ""), reply(504, "")}
	c := otlpfake.New(t, passing...)
	x := start(t, c.URL)
	x.end("kept")
	c.Find(t, "the span", named("kept"))
	if n := x.value(t, "carrel_otlp_export_failures_total"); n != 4 {
		t.Errorf("%v failures are counted", n)
	}
}

func TestDataThatIsRefusedFiveTimesIsDropped(t *testing.T) {
	t.Parallel()
	c := otlpfake.New(t, slices.Repeat([]http.HandlerFunc{reply(503, "")}, 5)...)
	x := start(t, c.URL)
	x.end("lost")
	c.Await(t, "the first span", func() bool { return x.value(t, droppedSpans) == 1 })
	x.end("next")
	// The line follows the reply of the collector.
	c.Await(t, "the log line", func() bool { return strings.Contains(x.log.String(), "accepts data again") })
	log := x.log.String()
	if strings.Count(log, "level=WARN") != 1 || strings.Count(log, "accepts data again") != 1 {
		t.Errorf("log:\n%s", log)
	}
}

func TestPartialSuccessIsCountedAndNotRetried(t *testing.T) {
	t.Parallel()
	for _, rejected := range []string{`"2"`, `2`} {
		c := otlpfake.New(t, reply(200, `{"partialSuccess":{"rejectedSpans":`+rejected+`,"errorMessage":"too old"}}`))
		x := start(t, c.URL)
		x.end("a")
		c.Await(t, "the request", func() bool { return x.value(t, droppedSpans) == 2 })
		x.end("b")
		c.Find(t, "the next span", named("b"))
		if c.Requests() != 2 || !strings.Contains(x.log.String(), "too old") {
			t.Errorf("%d requests, log:\n%s", c.Requests(), x.log)
		}
	}
}

func TestFullQueueDropsSpansAndCountsThem(t *testing.T) {
	t.Parallel()
	hung := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hung:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(hung) })
	x := start(t, s.URL, func(o *otlp.Options) { o.Queue, o.Batch, o.Flush = 8, 2, 10*time.Millisecond })
	// The collector does not answer, so that at most a batch and the queue are accepted.
	const n = 1000
	for range n {
		x.end("a")
	}
	if d := x.value(t, droppedSpans); d < n-2-8-1 || d == n {
		t.Errorf("%v of %d spans are dropped", d, n)
	}
	x.stop()
	if d := x.value(t, droppedSpans); d != n {
		t.Errorf("%v of %d spans are counted as dropped after the end", d, n)
	}
}

func TestSpansAreFlushedAtTheEnd(t *testing.T) {
	t.Parallel()
	c := otlpfake.New(t)
	x := start(t, c.URL, func(o *otlp.Options) { o.Delay, o.Batch = time.Hour, 10 })
	const n = 25
	for range n {
		x.end("a")
	}
	x.stop()
	if got := len(c.Spans()); got != n {
		t.Errorf("%d of %d spans", got, n)
	}
}

// A span whose request is being retried when the process ends is sent once more.
func TestBatchInRetryIsFlushedAtTheEnd(t *testing.T) {
	t.Parallel()
	c := otlpfake.New(t, reply(503, ""))
	x := start(t, c.URL, func(o *otlp.Options) { o.Backoff = time.Hour })
	x.end("a")
	c.Await(t, "the first request", func() bool { return x.value(t, "carrel_otlp_export_failures_total") == 1 })
	x.stop()
	if n := len(c.Spans()); n != 1 || x.value(t, droppedSpans) != 0 {
		t.Errorf("%d spans", n)
	}
}

func TestUnreachableCollectorIsLoggedOnce(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	x := start(t, "http://"+addr, func(o *otlp.Options) {
		o.Headers = map[string][]string{"Authorization": {"Bearer hunter2"}}
	})
	for i := range 3 {
		x.end("a")
		await(t, func() bool { return x.value(t, droppedSpans) == float64(i+1) })
	}
	log := x.log.String()
	if strings.Count(log, "level=WARN") != 1 || strings.Contains(log, "hunter2") ||
		!strings.Contains(log, "signal=traces") {
		t.Errorf("log:\n%s", log)
	}
}

func TestHeadersDoNotFollowARedirect(t *testing.T) {
	t.Parallel()
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Store(true) }))
	t.Cleanup(other.Close)
	c := otlpfake.New(t, reply(http.StatusTemporaryRedirect, "", "Location", other.URL))
	x := start(t, c.URL, func(o *otlp.Options) { o.Headers = map[string][]string{"X-Key": {"secret"}} })
	x.end("a")
	c.Await(t, "the request", func() bool { return x.value(t, droppedSpans) == 1 })
	if leaked.Load() {
		t.Error("the redirect is followed")
	}
}
