package obs

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is what Prometheus reads. It has a registry of its own, so that two servers in one process (as in tests)
// do not meet.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	limited  *prometheus.CounterVec
}

// NewMetrics returns the metrics of a process of this version.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "carrel_http_requests_total", Help: "Requests answered, by method, route and status.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "carrel_http_request_duration_seconds", Help: "Time from the start of a request to the end of its reply.",
			// Reads take about a millisecond; sending a message may wait for the whole turn.
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "carrel_http_requests_in_flight", Help: "Requests being answered now.",
		}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "carrel_http_rate_limited_total", Help: "Requests turned away by a rate limit, by policy.",
		}, []string{"policy"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "carrel_build_info", Help: "Always 1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.duration, m.inFlight, m.limited, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Register adds collectors of other parts, such as the pool of the database.
func (m *Metrics) Register(cs ...prometheus.Collector) error {
	for _, c := range cs {
		if err := m.registry.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// Begin counts a request as being answered.
func (m *Metrics) Begin() { m.inFlight.Inc() }

// End counts a request as answered. Route is a pattern, never a path: each new value is kept for ever.
func (m *Metrics) End(method, route string, status int, took time.Duration) {
	m.inFlight.Dec()
	method = knownMethod(method)
	m.requests.WithLabelValues(method, route, statusLabel(status)).Inc()
	m.duration.WithLabelValues(method, route).Observe(took.Seconds())
}

// Limited counts a request that was turned away by a rate limit.
func (m *Metrics) Limited(policy string) { m.limited.WithLabelValues(policy).Inc() }

// knownMethod bounds the methods that become labels: a client may send any word as one.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	}
	return "other"
}

// statusLabel spares an allocation for the statuses that nearly every reply has.
func statusLabel(status int) string {
	switch status {
	case http.StatusOK:
		return "200"
	case http.StatusAccepted:
		return "202"
	case http.StatusNotModified:
		return "304"
	}
	return strconv.Itoa(status)
}
