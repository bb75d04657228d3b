package obs_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/obs"
)

func scrape(t *testing.T, m *obs.Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func TestMetricsShowRequestsBuildAndProcess(t *testing.T) {
	t.Parallel()
	m := obs.NewMetrics("1.2.3")
	m.Begin()
	m.Begin()
	m.End(http.MethodGet, "/api/agents", 200, 3*time.Millisecond)
	m.Limited("address")
	got := scrape(t, m)
	for _, want := range []string{
		`carrel_http_requests_total{method="GET",route="/api/agents",status="200"} 1`,
		`carrel_http_request_duration_seconds_bucket{method="GET",route="/api/agents",le="0.0025"} 0`,
		`carrel_http_request_duration_seconds_bucket{method="GET",route="/api/agents",le="0.005"} 1`,
		`carrel_http_requests_in_flight 1`,
		`carrel_http_rate_limited_total{policy="address"} 1`,
		`version="1.2.3"} 1`, `go_goroutines `, `process_cpu_seconds_total `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s", want)
		}
	}
}

func TestUnknownMethodsShareALabel(t *testing.T) {
	t.Parallel()
	m := obs.NewMetrics("")
	for _, method := range []string{"BREW", "WHEN", "get"} {
		m.Begin()
		m.End(method, "none", 405, 0)
	}
	if got := scrape(t, m); !strings.Contains(got, `{method="other",route="none",status="405"} 3`) ||
		strings.Contains(got, "BREW") {
		t.Error("unknown methods became labels")
	}
}

func TestCollectorsCanBeRegistered(t *testing.T) {
	t.Parallel()
	m := obs.NewMetrics("")
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "carrel_test_total", Help: "x"})
	if err := m.Register(c); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(scrape(t, m), "carrel_test_total 0") {
		t.Error("not served")
	}
	if err := m.Register(c); err == nil {
		t.Error("registered twice without an error")
	}
}
