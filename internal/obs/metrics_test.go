package obs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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

func TestEveryStatusHasItsOwnSeries(t *testing.T) {
	t.Parallel()
	m := obs.NewMetrics("")
	statuses := []int{200, 201, 202, 204, 304, 404, 429, 500}
	for _, status := range statuses {
		m.Begin()
		m.End(http.MethodGet, "/x", status, time.Second)
	}
	got := scrape(t, m)
	for _, status := range statuses {
		want := fmt.Sprintf(`carrel_http_requests_total{method="GET",route="/x",status="%d"} 1`, status)
		if !strings.Contains(got, want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
	for _, want := range []string{
		"carrel_http_requests_in_flight 0\n",
		"carrel_http_request_duration_seconds_count{method=\"GET\",route=\"/x\"} 8\n",
		"carrel_http_request_duration_seconds_sum{method=\"GET\",route=\"/x\"} 8\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s", want)
		}
	}
}

// Tests and embedders run several servers in one process.
func TestServersHaveSeparateMetrics(t *testing.T) {
	t.Parallel()
	one, two := obs.NewMetrics("1"), obs.NewMetrics("2")
	one.Limited("address")
	got := scrape(t, two)
	if strings.Contains(got, "carrel_http_rate_limited_total{") || !strings.Contains(got, `version="2"`) {
		t.Error("the metrics of another server are shown")
	}
}

// Dashboards and alerts refer to the names.
func TestNamesOfMetrics(t *testing.T) {
	t.Parallel()
	m := obs.NewMetrics("1")
	m.Begin()
	m.End(http.MethodGet, "/x", 200, 0)
	m.Limited("address")
	var names []string
	for line := range strings.Lines(scrape(t, m)) {
		if name, ok := strings.CutPrefix(line, "# TYPE carrel_"); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	want := []string{
		"build_info gauge", "certificate_expires_timestamp_seconds gauge",
		"http_rate_limited_total counter", "http_request_duration_seconds histogram",
		"http_requests_in_flight gauge", "http_requests_total counter",
	}
	if !slices.Equal(names, want) {
		t.Errorf("metrics %q, want %q", names, want)
	}
}
