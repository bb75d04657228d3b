package obs

import (
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Metrics are the Prometheus metrics of a server. They have their own registry, because tests run several servers in
// one process.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	limited  *prometheus.CounterVec
	expires  prometheus.Gauge
}

// NewMetrics returns metrics whose build info has the version.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "carrel_http_requests_total", Help: "Requests answered, by method, route and status.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "carrel_http_request_duration_seconds", Help: "Time from the start of a request to the end of its reply.",
			// Reads take about a millisecond; sending a message may wait for a whole turn.
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "carrel_http_requests_in_flight", Help: "Requests being answered now.",
		}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "carrel_http_rate_limited_total", Help: "Requests turned away by a rate limit, by policy.",
		}, []string{"policy"}),
	}
	m.expires = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "carrel_certificate_expires_timestamp_seconds",
		Help: "Expiry of the certificate in use, in seconds since 1970; 0 if the server does not use HTTPS.",
	})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "carrel_build_info", Help: "Always 1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.duration, m.inFlight, m.limited, m.expires, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler returns a handler that serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Register adds collectors of other packages.
func (m *Metrics) Register(cs ...prometheus.Collector) error {
	for _, c := range cs {
		if err := m.registry.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// Gather implements prometheus.Gatherer.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) { return m.registry.Gather() }

// Describe lists the metrics.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { m.registry.Describe(ch) }

// Begin counts a request as in flight.
func (m *Metrics) Begin() { m.inFlight.Inc() }

// End counts a finished request. The route must be a pattern and not a path: every value creates a time series.
func (m *Metrics) End(method, route string, status int, took time.Duration) {
	m.inFlight.Dec()
	method = KnownMethod(method)
	m.requests.WithLabelValues(method, route, statusLabel(status)).Inc()
	m.duration.WithLabelValues(method, route).Observe(took.Seconds())
}

// Limited counts a request that was refused by a rate limit.
func (m *Metrics) Limited(policy string) { m.limited.WithLabelValues(policy).Inc() }

// CertificateExpires sets the expiry of the certificate in use.
func (m *Metrics) CertificateExpires(at time.Time) { m.expires.Set(float64(at.Unix())) }

// KnownMethod returns the method, or "other" for words that HTTP does not define: every value of a label creates a time
// series, and clients can send any word.
func KnownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	}
	return "other"
}

// statusLabel saves an allocation for the most frequent statuses.
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
