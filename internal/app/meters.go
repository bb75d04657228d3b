package app

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/billing"
	"carrel/internal/model"
)

// meters are the metrics of calls that services make. They exist before the server, which exports them.
type meters struct {
	modelTime     *prometheus.HistogramVec
	modelFailures *prometheus.CounterVec
	spend         *prometheus.CounterVec
	deliveries    *prometheus.CounterVec
}

// The values of the label "kind" of calls to models.
const (
	chatCall      = "chat"
	embeddingCall = "embedding"
)

func newMeters() *meters {
	m := &meters{
		modelTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "carrel_model_request_duration_seconds",
			Help: "Time of calls to the language model and the embedding endpoint, retries included, by kind.",
			// Models on this machine take minutes.
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320},
		}, []string{"kind"}),
		modelFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "carrel_model_failures_total", Help: "Failed calls to models, by kind and reason.",
		}, []string{"kind", "reason"}),
		spend: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "carrel_spend_dollars_total",
			Help: "Cost of the paid calls of this node, by kind. The ledger in the database is exact.",
		}, []string{"kind"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "carrel_webhook_attempts_total", Help: "Attempts to deliver a webhook, by outcome.",
		}, []string{"outcome"}),
	}
	// Series that start at 0 let a query see the first increase.
	for _, kind := range []string{chatCall, embeddingCall} {
		m.modelTime.WithLabelValues(kind)
		m.modelFailures.WithLabelValues(kind, reasonOther)
	}
	for _, kind := range []billing.Metered{billing.MeteredModel, billing.MeteredEmbedding, billing.MeteredSearch} {
		m.spend.WithLabelValues(string(kind))
	}
	for _, outcome := range []string{delivered, notDelivered} {
		m.deliveries.WithLabelValues(outcome)
	}
	return m
}

func (m *meters) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.modelTime, m.modelFailures, m.spend, m.deliveries}
}

// spent counts the cost of a paid call. A nil meters counts nothing.
func (m *meters) spent(kind billing.Metered, micros int64) {
	if m != nil {
		m.spend.WithLabelValues(string(kind)).Add(float64(max(0, micros)) / 1e6)
	}
}

// The outcomes of attempts to deliver a webhook.
const (
	delivered    = "delivered"
	notDelivered = "failed"
)

// attempted counts an attempt to deliver a webhook.
func (m *meters) attempted(ok bool) {
	outcome := notDelivered
	if ok {
		outcome = delivered
	}
	m.deliveries.WithLabelValues(outcome).Inc()
}

// observe records a call to a model.
func (m *meters) observe(kind string, started time.Time, err error, reason func(error) string) {
	m.modelTime.WithLabelValues(kind).Observe(time.Since(started).Seconds())
	if err != nil && !errors.Is(err, context.Canceled) {
		m.modelFailures.WithLabelValues(kind, reason(err)).Inc()
	}
}

// reasonOther is the reason of failures without a reason of their own.
const reasonOther = "other"

// chatReasons are the reasons of failed chat calls.
var chatReasons = []struct {
	err    error
	reason string
}{
	{model.ErrKey, "key"},
	{model.ErrCredit, "credit"},
	{model.ErrUnknownModel, "unknown_model"},
	{model.ErrTooLong, "too_long"},
	{model.ErrRateLimited, "rate_limited"},
	{model.ErrRefused, "refused"},
	{model.ErrRequest, "request"},
	{model.ErrProvider, "provider"},
	{model.ErrUnreachable, "unreachable"},
	{model.ErrTimeout, "timeout"},
	{model.ErrTruncated, "truncated"},
	{model.ErrReply, "malformed"},
	{model.ErrToolCall, "malformed"},
}

func chatReason(err error) string {
	for _, r := range chatReasons {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return reasonOther
}

func embeddingReason(err error) string { return string(model.FaultOf(err)) }

// meteredModel measures the calls to a chat model.
type meteredModel struct {
	model.Provider
	meters *meters
}

// Stream implements model.Provider.
func (p meteredModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		started := time.Now()
		var failure error
		defer func() { p.meters.observe(chatCall, started, failure, chatReason) }()
		for event, err := range p.Provider.Stream(ctx, r) {
			if err != nil {
				failure = err
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// meteredEmbedder measures the calls to an embedding endpoint.
type meteredEmbedder struct {
	model.Embedder
	meters *meters
}

// Embed implements model.Embedder.
func (e meteredEmbedder) Embed(ctx context.Context, texts []string) (model.Embeddings, error) {
	started := time.Now()
	out, err := e.Embedder.Embed(ctx, texts)
	e.meters.observe(embeddingCall, started, err, embeddingReason)
	return out, err
}

// turnSpend counts the cost of model calls of turns. It implements research.Spend.
type turnSpend struct {
	*billing.Spending
	meters *meters
}

// Settle implements research.Spend.
func (s turnSpend) Settle(ctx context.Context, userID, turnID string, micros int64, estimated bool) error {
	err := s.Spending.Settle(ctx, userID, turnID, micros, estimated)
	if err == nil {
		s.meters.spent(billing.MeteredModel, micros)
	}
	return err
}
