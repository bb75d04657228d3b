package otlpfake

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// The messages of OTLP, with the fields that Carrel sends. A field that is missing here is refused, so a new field must
// be compared with the specification first.

type traceRequest struct {
	ResourceSpans []struct {
		Resource   resource `json:"resource"`
		ScopeSpans []struct {
			Scope scope         `json:"scope"`
			Spans []spanMessage `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type resource struct {
	Attributes []keyValue `json:"attributes"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type keyValue struct {
	Key   string `json:"key"`
	Value struct {
		StringValue *string  `json:"stringValue"`
		IntValue    *integer `json:"intValue"`
	} `json:"value"`
}

type spanMessage struct {
	TraceID           string     `json:"traceId"`
	SpanID            string     `json:"spanId"`
	ParentSpanID      string     `json:"parentSpanId"`
	Name              string     `json:"name"`
	Kind              int        `json:"kind"`
	StartTimeUnixNano nanos      `json:"startTimeUnixNano"`
	EndTimeUnixNano   nanos      `json:"endTimeUnixNano"`
	Attributes        []keyValue `json:"attributes"`
	Links             []struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
	} `json:"links"`
	Status *struct {
		Code int `json:"code"`
	} `json:"status"`
}

type metricsRequest struct {
	ResourceMetrics []struct {
		Resource     resource `json:"resource"`
		ScopeMetrics []struct {
			Scope   scope           `json:"scope"`
			Metrics []metricMessage `json:"metrics"`
		} `json:"scopeMetrics"`
	} `json:"resourceMetrics"`
}

type metricMessage struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Sum         *struct {
		DataPoints             []numberPoint `json:"dataPoints"`
		AggregationTemporality int           `json:"aggregationTemporality"`
		IsMonotonic            bool          `json:"isMonotonic"`
	} `json:"sum"`
	Gauge *struct {
		DataPoints []numberPoint `json:"dataPoints"`
	} `json:"gauge"`
	Histogram *struct {
		DataPoints             []histogramPoint `json:"dataPoints"`
		AggregationTemporality int              `json:"aggregationTemporality"`
	} `json:"histogram"`
	Summary *struct {
		DataPoints []summaryPoint `json:"dataPoints"`
	} `json:"summary"`
}

type pointHead struct {
	Attributes        []keyValue `json:"attributes"`
	StartTimeUnixNano nanos      `json:"startTimeUnixNano"`
	TimeUnixNano      nanos      `json:"timeUnixNano"`
}

type numberPoint struct {
	pointHead
	AsDouble *double `json:"asDouble"`
}

type histogramPoint struct {
	pointHead
	Count          integer   `json:"count"`
	Sum            double    `json:"sum"`
	BucketCounts   []integer `json:"bucketCounts"`
	ExplicitBounds []double  `json:"explicitBounds"`
}

type summaryPoint struct {
	pointHead
	Count          integer `json:"count"`
	Sum            double  `json:"sum"`
	QuantileValues []struct {
		Quantile double `json:"quantile"`
		Value    double `json:"value"`
	} `json:"quantileValues"`
}

// integer is a 64-bit integer, which must be a string.
type integer int64

// UnmarshalJSON implements json.Unmarshaler.
func (i *integer) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	*i = integer(n)
	return err
}

// nanos is a time as a 64-bit integer.
type nanos time.Time

// UnmarshalJSON implements json.Unmarshaler.
func (n *nanos) UnmarshalJSON(b []byte) error {
	var i integer
	if err := i.UnmarshalJSON(b); err != nil {
		return err
	}
	*n = nanos(time.Unix(0, int64(i)))
	return nil
}

// double is a number, or the name of a special value.
type double float64

// UnmarshalJSON implements json.Unmarshaler.
func (d *double) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"NaN"`:
		*d = double(math.NaN())
		return nil
	case `"Infinity"`:
		*d = double(math.Inf(1))
		return nil
	case `"-Infinity"`:
		*d = double(math.Inf(-1))
		return nil
	}
	return json.Unmarshal(b, (*float64)(d))
}

// cumulative is the only aggregation temporality that Carrel sends.
const cumulative = 2

func (c *Collector) acceptMetrics(request metricsRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range request.ResourceMetrics {
		if err := c.acceptResource(r.Resource); err != nil {
			return err
		}
		for _, scope := range r.ScopeMetrics {
			for _, m := range scope.Metrics {
				metric, err := m.metric()
				if err != nil {
					return fmt.Errorf("%s: %w", m.Name, err)
				}
				c.metrics[m.Name] = metric
			}
		}
	}
	return nil
}

func (m metricMessage) metric() (Metric, error) {
	var all []Metric
	var errs []error
	add := func(kind string, n int, point func(i int) (Point, error)) {
		metric := Metric{Type: kind}
		if n == 0 {
			errs = append(errs, errors.New("no data points"))
		}
		for i := range n {
			p, err := point(i)
			errs = append(errs, err)
			metric.Points = append(metric.Points, p)
		}
		all = append(all, metric)
	}
	if v := m.Sum; v != nil {
		if v.AggregationTemporality != cumulative || !v.IsMonotonic {
			errs = append(errs, fmt.Errorf("temporality %d, monotonic %v", v.AggregationTemporality, v.IsMonotonic))
		}
		add("sum", len(v.DataPoints), func(i int) (Point, error) { return v.DataPoints[i].point(true) })
	}
	if v := m.Gauge; v != nil {
		add("gauge", len(v.DataPoints), func(i int) (Point, error) { return v.DataPoints[i].point(false) })
	}
	if v := m.Histogram; v != nil {
		if v.AggregationTemporality != cumulative {
			errs = append(errs, fmt.Errorf("temporality %d", v.AggregationTemporality))
		}
		add("histogram", len(v.DataPoints), func(i int) (Point, error) { return v.DataPoints[i].point() })
	}
	if v := m.Summary; v != nil {
		add("summary", len(v.DataPoints), func(i int) (Point, error) { return v.DataPoints[i].point() })
	}
	if len(all) != 1 || m.Name == "" {
		return Metric{}, fmt.Errorf("%d values", len(all))
	}
	return all[0], errors.Join(errs...)
}

func (h pointHead) point(total bool) (Point, error) {
	p := Point{Start: time.Time(h.StartTimeUnixNano), Time: time.Time(h.TimeUnixNano)}
	if p.Time.IsZero() || total == p.Start.IsZero() || p.Time.Before(p.Start) {
		return p, fmt.Errorf("it counts from %v to %v", p.Start, p.Time)
	}
	var err error
	p.Attributes, err = texts(h.Attributes)
	return p, err
}

func (n numberPoint) point(total bool) (Point, error) {
	p, err := n.pointHead.point(total)
	if n.AsDouble == nil {
		return p, errors.Join(err, errors.New("no value"))
	}
	p.Value = float64(*n.AsDouble)
	return p, err
}

func (h histogramPoint) point() (Point, error) {
	p, err := h.pointHead.point(true)
	p.Value, p.Count = float64(h.Sum), int64(h.Count)
	sum := int64(0)
	for _, n := range h.BucketCounts {
		sum += int64(n)
		p.Buckets = append(p.Buckets, int64(n))
	}
	for _, b := range h.ExplicitBounds {
		p.Bounds = append(p.Bounds, float64(b))
	}
	if sum != p.Count || len(p.Buckets) != len(p.Bounds)+1 || !slices.IsSorted(p.Bounds) {
		return p, fmt.Errorf("%d in the buckets %v with the bounds %v", p.Count, p.Buckets, p.Bounds)
	}
	return p, err
}

func (s summaryPoint) point() (Point, error) {
	p, err := s.pointHead.point(true)
	p.Value, p.Count = float64(s.Sum), int64(s.Count)
	return p, err
}
