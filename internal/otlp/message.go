package otlp

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// The types below are the messages of OTLP in their JSON encoding: names in lower camel case, ids in hexadecimal
// digits, 64-bit integers as strings, enums as numbers.

type traceRequest struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type scopeSpans struct {
	Scope scope         `json:"scope"`
	Spans []spanMessage `json:"spans"`
}

type resource struct {
	Attributes []keyValue `json:"attributes"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type keyValue struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

type anyValue struct {
	StringValue *string `json:"stringValue,omitempty"`
	IntValue    *int64  `json:"intValue,omitempty,string"`
}

type spanMessage struct {
	TraceID           string        `json:"traceId"`
	SpanID            string        `json:"spanId"`
	ParentSpanID      string        `json:"parentSpanId,omitempty"`
	Name              string        `json:"name"`
	Kind              Kind          `json:"kind"`
	StartTimeUnixNano int64         `json:"startTimeUnixNano,string"`
	EndTimeUnixNano   int64         `json:"endTimeUnixNano,string"`
	Attributes        []keyValue    `json:"attributes,omitempty"`
	Links             []linkMessage `json:"links,omitempty"`
	Status            *spanStatus   `json:"status,omitempty"`
}

type linkMessage struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
}

type spanStatus struct {
	Code int `json:"code"`
}

// statusError is the status code of a failed span.
const statusError = 2

// message returns the span for export. The span has ended.
func (s *Span) message() spanMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := spanMessage{
		TraceID: s.context.TraceID.String(), SpanID: s.context.SpanID.String(), Name: s.name, Kind: s.kind,
		StartTimeUnixNano: s.started.UnixNano(), EndTimeUnixNano: s.ended.UnixNano(),
		Attributes: keyValues(s.attributes),
	}
	if s.parent != (SpanID{}) {
		m.ParentSpanID = s.parent.String()
	}
	for _, l := range s.links {
		m.Links = append(m.Links, linkMessage{l.TraceID.String(), l.SpanID.String()})
	}
	if s.failed {
		m.Status = &spanStatus{statusError}
	}
	return m
}

func keyValues(attributes []Attribute) []keyValue {
	out := make([]keyValue, len(attributes))
	for i, a := range attributes {
		out[i].Key = a.key
		if a.isNumber {
			out[i].Value.IntValue = &a.number
		} else {
			out[i].Value.StringValue = &a.text
		}
	}
	return out
}

type metricsRequest struct {
	ResourceMetrics []resourceMetrics `json:"resourceMetrics"`
}

type resourceMetrics struct {
	Resource     resource       `json:"resource"`
	ScopeMetrics []scopeMetrics `json:"scopeMetrics"`
}

type scopeMetrics struct {
	Scope   scope           `json:"scope"`
	Metrics []metricMessage `json:"metrics"`
}

// metricMessage has exactly one of its last four fields.
type metricMessage struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Sum         *sumMessage       `json:"sum,omitempty"`
	Gauge       *gaugeMessage     `json:"gauge,omitempty"`
	Histogram   *histogramMessage `json:"histogram,omitempty"`
	Summary     *summaryMessage   `json:"summary,omitempty"`
}

// cumulative is the aggregation temporality of totals since the start.
const cumulative = 2

type sumMessage struct {
	DataPoints             []numberPoint `json:"dataPoints"`
	AggregationTemporality int           `json:"aggregationTemporality"`
	IsMonotonic            bool          `json:"isMonotonic"`
}

type gaugeMessage struct {
	DataPoints []numberPoint `json:"dataPoints"`
}

type histogramMessage struct {
	DataPoints             []histogramPoint `json:"dataPoints"`
	AggregationTemporality int              `json:"aggregationTemporality"`
}

type summaryMessage struct {
	DataPoints []summaryPoint `json:"dataPoints"`
}

// pointHead are the fields that all data points have.
type pointHead struct {
	Attributes        []keyValue `json:"attributes,omitempty"`
	StartTimeUnixNano nanos      `json:"startTimeUnixNano,omitempty"`
	TimeUnixNano      nanos      `json:"timeUnixNano"`
}

type numberPoint struct {
	pointHead
	AsDouble double `json:"asDouble"`
}

type histogramPoint struct {
	pointHead
	Count          uint64   `json:"count,string"`
	Sum            double   `json:"sum"`
	BucketCounts   []count  `json:"bucketCounts"`
	ExplicitBounds []double `json:"explicitBounds"`
}

type summaryPoint struct {
	pointHead
	Count          uint64          `json:"count,string"`
	Sum            double          `json:"sum"`
	QuantileValues []quantileValue `json:"quantileValues"`
}

type quantileValue struct {
	Quantile double `json:"quantile"`
	Value    double `json:"value"`
}

// nanos is a time in nanoseconds since 1970; 0 is omitted.
type nanos int64

func nanosOf(t time.Time) nanos { return nanos(t.UnixNano()) }

// MarshalJSON writes a string, as all 64-bit integers.
func (n nanos) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatInt(int64(n), 10)) }

// count is the count of a bucket.
type count uint64

// MarshalJSON writes a string, as all 64-bit integers.
func (c count) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatUint(uint64(c), 10)) }

// double is a float64 whose special values are strings, as the JSON mapping of Protocol Buffers requires.
type double float64

// MarshalJSON implements json.Marshaler.
func (d double) MarshalJSON() ([]byte, error) {
	switch v := float64(d); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(v)
	}
}
