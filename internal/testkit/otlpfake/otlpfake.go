// Package otlpfake is an OpenTelemetry collector for tests. It accepts OTLP over HTTP in the JSON encoding and refuses
// everything that the specification does not allow: unknown fields, ids of the wrong length, 64-bit integers that are
// not strings, several values in one metric.
package otlpfake

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Span is a received span. Numbers are formatted as texts.
type Span struct {
	TraceID, SpanID, ParentID string
	Name                      string
	Kind                      int
	Start, End                time.Time
	Attributes                map[string]string
	// Links are the ids of linked spans.
	Links  []string
	Failed bool
}

// Metric is the latest value of a metric.
type Metric struct {
	// Type is "sum", "gauge", "histogram" or "summary".
	Type   string
	Points []Point
}

// Point is a data point of a metric.
type Point struct {
	Attributes map[string]string
	// Value is the value of a sum or a gauge, or the sum of a histogram or a summary.
	Value float64
	// Count, Buckets and Bounds describe a histogram; a summary has only the count.
	Count   int64
	Buckets []int64
	Bounds  []float64
	// Start is zero for a gauge.
	Start, Time time.Time
}

// Collector is a running collector.
type Collector struct {
	// URL is the address for the setting otlp-url.
	URL string

	t  testing.TB
	mu sync.Mutex
	// refusals are served instead of accepting a request, in order.
	refusals []http.HandlerFunc
	requests int
	spans    []Span
	metrics  map[string]Metric
	resource map[string]string
	header   http.Header
	text     strings.Builder
}

// New starts a collector that runs until the end of the test. A request that violates the specification fails the test.
func New(t testing.TB, refusals ...http.HandlerFunc) *Collector {
	t.Helper()
	c := &Collector{t: t, refusals: refusals, metrics: map[string]Metric{}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err == nil {
		if refuse := c.next(r, body); refuse != nil {
			refuse(w, r)
			return
		}
		err = c.accept(r.URL.Path, body)
	}
	if err != nil {
		c.t.Errorf("request to %s: %v\n%s", r.URL.Path, err, body)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}") // a client that has gone
}

// next counts a request and returns its refusal, or nil.
func (c *Collector) next(r *http.Request, body []byte) http.HandlerFunc {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	c.header = r.Header
	c.text.Write(body)
	if len(c.refusals) == 0 {
		return nil
	}
	refuse := c.refusals[0]
	c.refusals = c.refusals[1:]
	return refuse
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
		r.Header.Get("Content-Encoding") != "gzip" {
		return nil, fmt.Errorf("%s with the headers %v", r.Method, r.Header)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (c *Collector) accept(path string, body []byte) error {
	switch path {
	case "/v1/traces":
		var request traceRequest
		if err := strict(body, &request); err != nil {
			return err
		}
		return c.acceptSpans(request)
	case "/v1/metrics":
		var request metricsRequest
		if err := strict(body, &request); err != nil {
			return err
		}
		return c.acceptMetrics(request)
	}
	return errors.New("unknown path")
}

func strict(body []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// Requests returns the number of requests.
func (c *Collector) Requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

// Text returns the bodies of all requests.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// Header returns the headers of the last request.
func (c *Collector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header.Clone()
}

// Resource returns the attributes of the last resource.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.resource)
}

// Spans returns the spans received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Metrics returns the latest values of all metrics.
func (c *Collector) Metrics() map[string]Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.metrics)
}

// Find waits for a span and returns it.
func (c *Collector) Find(t testing.TB, what string, match func(Span) bool) Span {
	t.Helper()
	var found Span
	c.Await(t, what, func() bool {
		spans := c.Spans()
		i := slices.IndexFunc(spans, match)
		if i >= 0 {
			found = spans[i]
		}
		return i >= 0
	})
	return found
}

// awaitTimeout is longer than any export takes.
const awaitTimeout = time.Minute

// Await waits for a condition.
func (c *Collector) Await(t testing.TB, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(awaitTimeout); !reached(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			for _, s := range c.Spans() {
				t.Logf("span %s %s < %s %q %v", s.TraceID, s.SpanID, s.ParentID, s.Name, s.Attributes)
			}
			t.Fatalf("the collector has not received %s", what)
		}
	}
}

var (
	traceIDForm = regexp.MustCompile(`^[0-9a-f]{32}$`)
	spanIDForm  = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

func (c *Collector) acceptSpans(request traceRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range request.ResourceSpans {
		if err := c.acceptResource(r.Resource); err != nil {
			return err
		}
		for _, scope := range r.ScopeSpans {
			for _, m := range scope.Spans {
				s, err := m.span()
				if err != nil {
					return err
				}
				c.spans = append(c.spans, s)
			}
		}
	}
	return nil
}

func (c *Collector) acceptResource(r resource) error {
	attributes, err := texts(r.Attributes)
	c.resource = attributes
	if err == nil && attributes["service.name"] == "" {
		return errors.New("no service.name")
	}
	return err
}

func (m spanMessage) span() (Span, error) {
	s := Span{TraceID: m.TraceID, SpanID: m.SpanID, ParentID: m.ParentSpanID, Name: m.Name, Kind: m.Kind}
	if !traceIDForm.MatchString(m.TraceID) || !spanIDForm.MatchString(m.SpanID) ||
		m.ParentSpanID != "" && !spanIDForm.MatchString(m.ParentSpanID) {
		return s, fmt.Errorf("malformed ids of %+v", m)
	}
	if m.Name == "" || m.Kind < 1 || m.Kind > 5 {
		return s, fmt.Errorf("no name or kind in %+v", m)
	}
	var err error
	if s.Attributes, err = texts(m.Attributes); err != nil {
		return s, err
	}
	s.Start, s.End = time.Time(m.StartTimeUnixNano), time.Time(m.EndTimeUnixNano)
	if s.Start.IsZero() || s.End.Before(s.Start) {
		return s, fmt.Errorf("it lasts from %v to %v", s.Start, s.End)
	}
	for _, l := range m.Links {
		if !traceIDForm.MatchString(l.TraceID) || !spanIDForm.MatchString(l.SpanID) {
			return s, fmt.Errorf("malformed link %+v", l)
		}
		s.Links = append(s.Links, l.SpanID)
	}
	if m.Status != nil {
		if m.Status.Code < 0 || m.Status.Code > 2 {
			return s, fmt.Errorf("status %d", m.Status.Code)
		}
		s.Failed = m.Status.Code == 2
	}
	return s, nil
}

func texts(attributes []keyValue) (map[string]string, error) {
	out := map[string]string{}
	for _, a := range attributes {
		if _, twice := out[a.Key]; a.Key == "" || twice || (a.Value.StringValue == nil) == (a.Value.IntValue == nil) {
			return nil, fmt.Errorf("attribute %+v", a)
		}
		if a.Value.IntValue != nil {
			out[a.Key] = strconv.FormatInt(int64(*a.Value.IntValue), 10)
			continue
		}
		out[a.Key] = *a.Value.StringValue
	}
	return out, nil
}
