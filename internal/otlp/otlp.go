// Package otlp traces operations and exports the traces and the Prometheus metrics of the process to an OpenTelemetry
// collector, by OTLP over HTTP in its JSON encoding. It is written by hand because the SDK of OpenTelemetry adds 6.4 MB
// to the program.
//
// Exporting never delays the traced operation: spans wait in a bounded queue, and a collector that does not answer
// costs spans, which are counted, but no time.
package otlp

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/core"
)

// Options configure a Tracer. Zero durations and counts take the defaults.
type Options struct {
	// URL is the address of the collector without a trailing slash. /v1/traces and /v1/metrics are appended.
	URL string
	// Headers are sent with every request, such as an API key.
	Headers http.Header
	// Sample is the probability with which a new trace is exported, from 0 to 1.
	Sample float64
	// Interval is the time between exports of the metrics.
	Interval time.Duration
	// Version is the version of the program.
	Version string
	// Host is the name of this machine.
	Host string
	Log  *slog.Logger

	// Queue is the number of ended spans that wait for export at most, Batch the number of spans in one request.
	Queue, Batch int
	// Delay is how long an ended span waits for others to share its request.
	Delay time.Duration
	// Backoff is the pause before the first retry. It doubles with each retry.
	Backoff time.Duration
	// Flush limits the end of Run: one half for requests in flight, the other for the rest.
	Flush time.Duration
}

func (o Options) withDefaults() Options {
	o.Interval = cmp.Or(o.Interval, time.Minute)
	o.Queue = cmp.Or(o.Queue, 4096)
	o.Batch = cmp.Or(o.Batch, 512)
	o.Delay = cmp.Or(o.Delay, 2*time.Second)
	o.Backoff = cmp.Or(o.Backoff, time.Second)
	o.Flush = cmp.Or(o.Flush, 3*time.Second)
	return o
}

// Tracer creates spans and exports them while it runs. A nil Tracer creates none.
type Tracer struct {
	options  Options
	resource resource
	scope    scope
	started  time.Time
	queue    chan *Span
	client   *http.Client
	dropped  prometheus.Counter
	failures *prometheus.CounterVec
	traces   exporter
	metrics  exporter
}

// The signals, which are paths of the collector and values of a label.
const (
	signalTraces  = "traces"
	signalMetrics = "metrics"
)

// New returns a tracer that exports nothing until Run.
func New(o Options) *Tracer {
	if o.URL == "" || o.Log == nil {
		panic("otlp: Options.URL and Options.Log are required")
	}
	o = o.withDefaults()
	t := &Tracer{
		options: o, scope: scope{Name: "carrel", Version: o.Version}, started: time.Now(),
		queue: make(chan *Span, o.Queue), client: newClient(),
		resource: resource{keyValues([]Attribute{
			String("service.name", "carrel"), String("service.version", o.Version),
			String("service.instance.id", core.NewID("node")), String("host.name", o.Host),
		})},
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "carrel_otlp_spans_dropped_total",
			Help: "Spans that were not exported, because the queue was full or the collector did not accept them.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "carrel_otlp_export_failures_total",
			Help: "Requests to the OTLP collector that failed, retries included, by signal.",
		}, []string{"signal"}),
	}
	t.traces, t.metrics = t.newExporter(signalTraces), t.newExporter(signalMetrics)
	return t
}

// Collectors returns the metrics of the export itself.
func (t *Tracer) Collectors() []prometheus.Collector {
	return []prometheus.Collector{t.dropped, t.failures}
}

// Run exports spans and the metrics of g until ctx ends, and then the rest within Options.Flush.
func (t *Tracer) Run(ctx context.Context, g prometheus.Gatherer) {
	defer t.client.CloseIdleConnections()
	var group sync.WaitGroup
	group.Go(func() { t.exportSpans(ctx) })
	group.Go(func() { t.exportMetrics(ctx, g) })
	group.Wait()
}

// enqueue queues an ended span for export.
func (t *Tracer) enqueue(s *Span) {
	select {
	case t.queue <- s:
	default:
		t.dropped.Inc()
	}
}

// exportSpans sends the queued spans in batches until ctx ends, and then the rest.
func (t *Tracer) exportSpans(ctx context.Context) {
	tick := time.NewTicker(t.options.Delay)
	defer tick.Stop()
	var batch []*Span
	for {
		select {
		case <-ctx.Done():
			t.flushSpans(ctx, batch)
			return
		case s := <-t.queue:
			if batch = append(batch, s); len(batch) < t.options.Batch {
				continue
			}
		case <-tick.C:
			if len(batch) == 0 {
				continue
			}
		}
		err := t.traces.send(ctx, t.spansRequest(batch))
		if err != nil && ctx.Err() != nil {
			continue // flushSpans tries once more
		}
		if err != nil {
			t.dropped.Add(float64(len(batch)))
		}
		batch = nil
	}
}

// flushSpans sends the batch and the queued spans. It stops at the first failure, because the process is about to end.
func (t *Tracer) flushSpans(ctx context.Context, batch []*Span) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.options.Flush/2)
	defer cancel()
	for {
		for len(batch) < t.options.Batch && len(t.queue) > 0 {
			batch = append(batch, <-t.queue) // this is the only receiver
		}
		if len(batch) == 0 {
			return
		}
		if err := t.traces.sendOnce(ctx, t.spansRequest(batch)); err != nil {
			t.dropped.Add(float64(len(batch) + len(t.queue)))
			return
		}
		batch = nil
	}
}

func (t *Tracer) spansRequest(batch []*Span) traceRequest {
	messages := make([]spanMessage, len(batch))
	for i, s := range batch {
		messages[i] = s.message()
	}
	return traceRequest{[]resourceSpans{{t.resource, []scopeSpans{{t.scope, messages}}}}}
}

// exportMetrics sends the metrics at every interval until ctx ends, and then once more.
func (t *Tracer) exportMetrics(ctx context.Context, g prometheus.Gatherer) {
	tick := time.NewTicker(t.options.Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = t.metrics.send(ctx, t.metricsRequest(g)) // logged; the next export has newer values
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.options.Flush/2)
			defer cancel()
			_ = t.metrics.sendOnce(last, t.metricsRequest(g))
			return
		}
	}
}

// metricsRequest reads the metrics. A collector that fails does not prevent the export of the others.
func (t *Tracer) metricsRequest(g prometheus.Gatherer) metricsRequest {
	families, err := g.Gather()
	if err != nil {
		t.options.Log.Warn("some metrics could not be read for OTLP", slog.Any("error", err))
	}
	messages := convert(families, t.started, time.Now())
	return metricsRequest{[]resourceMetrics{{t.resource, []scopeMetrics{{t.scope, messages}}}}}
}
