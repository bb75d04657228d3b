package otlp

import (
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// convert returns Prometheus metrics as OTLP metrics under the same names. Totals count from started unless they have a
// start of their own. A family without series, or of a type that OTLP lacks, is left out.
func convert(families []*dto.MetricFamily, started, now time.Time) []metricMessage {
	out := make([]metricMessage, 0, len(families))
	for _, f := range families {
		m := metricMessage{Name: f.GetName(), Description: f.GetHelp()}
		c := converter{started: started, now: now}
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			m.Sum = &sumMessage{points(f, c.counter), cumulative, true}
		case dto.MetricType_GAUGE, dto.MetricType_UNTYPED:
			m.Gauge = &gaugeMessage{points(f, c.gauge)}
		case dto.MetricType_HISTOGRAM:
			m.Histogram = &histogramMessage{points(f, c.histogram), cumulative}
		case dto.MetricType_SUMMARY:
			m.Summary = &summaryMessage{points(f, c.summary)}
		default:
			continue
		}
		if len(f.GetMetric()) > 0 {
			out = append(out, m)
		}
	}
	return out
}

func points[P any](f *dto.MetricFamily, point func(*dto.Metric) P) []P {
	out := make([]P, len(f.GetMetric()))
	for i, m := range f.GetMetric() {
		out[i] = point(m)
	}
	return out
}

// converter converts series that were read at one time.
type converter struct{ started, now time.Time }

func (c converter) counter(m *dto.Metric) numberPoint {
	v := m.GetCounter()
	return numberPoint{c.since(m, v.GetCreatedTimestamp()), double(v.GetValue())}
}

func (c converter) gauge(m *dto.Metric) numberPoint {
	return numberPoint{
		pointHead{Attributes: labels(m), TimeUnixNano: nanosOf(c.now)},
		double(m.GetGauge().GetValue() + m.GetUntyped().GetValue()), // at most one is set
	}
}

// histogram subtracts the buckets from each other: those of Prometheus include all smaller values. The last bucket of
// OTLP has no upper bound.
func (c converter) histogram(m *dto.Metric) histogramPoint {
	v := m.GetHistogram()
	p := histogramPoint{
		pointHead: c.since(m, v.GetCreatedTimestamp()), Count: v.GetSampleCount(), Sum: double(v.GetSampleSum()),
		ExplicitBounds: []double{},
	}
	below := uint64(0)
	for _, b := range v.GetBucket() {
		if math.IsInf(b.GetUpperBound(), 1) {
			break
		}
		p.ExplicitBounds = append(p.ExplicitBounds, double(b.GetUpperBound()))
		p.BucketCounts = append(p.BucketCounts, count(b.GetCumulativeCount()-below))
		below = b.GetCumulativeCount()
	}
	p.BucketCounts = append(p.BucketCounts, count(v.GetSampleCount()-below))
	return p
}

func (c converter) summary(m *dto.Metric) summaryPoint {
	v := m.GetSummary()
	p := summaryPoint{
		pointHead: c.since(m, v.GetCreatedTimestamp()), Count: v.GetSampleCount(), Sum: double(v.GetSampleSum()),
		QuantileValues: []quantileValue{},
	}
	for _, q := range v.GetQuantile() {
		p.QuantileValues = append(p.QuantileValues, quantileValue{double(q.GetQuantile()), double(q.GetValue())})
	}
	return p
}

// since returns the head of a total that counts from its creation.
func (c converter) since(m *dto.Metric, created *timestamppb.Timestamp) pointHead {
	start := c.started
	if created != nil {
		start = created.AsTime()
	}
	return pointHead{Attributes: labels(m), StartTimeUnixNano: nanosOf(start), TimeUnixNano: nanosOf(c.now)}
}

func labels(m *dto.Metric) []keyValue {
	out := make([]Attribute, len(m.GetLabel()))
	for i, l := range m.GetLabel() {
		out[i] = String(l.GetName(), l.GetValue())
	}
	return keyValues(out)
}
