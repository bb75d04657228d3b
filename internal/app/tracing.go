package app

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/otlp"
	"carrel/internal/outbound"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/task"
)

// The types in this file trace the work of services. They are only created if traces are exported, so that a server
// without a collector does not spend anything on them. Attributes hold ids, counts and names from fixed sets: no texts
// of users, no addresses with paths and no messages of errors.

// newTracer returns the tracer of the settings, or nil if there is no collector.
func newTracer(cfg config.OTLP, log *slog.Logger) *otlp.Tracer {
	if cfg.URL == "" {
		return nil
	}
	host, _ := os.Hostname() // only informative
	return otlp.New(otlp.Options{
		URL: cfg.URL, Headers: cfg.Headers, Sample: cfg.Sample, Interval: cfg.Interval,
		Version: Version(), Host: host, Log: log,
	})
}

// exportTelemetry exports traces and metrics until the returned function is called, which exports the rest.
func (in *App) exportTelemetry(ctx context.Context, g prometheus.Gatherer) (stop func()) {
	if in.tracer == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		in.tracer.Run(ctx, g)
	}()
	return func() {
		cancel()
		<-done
	}
}

// errorType returns the class of an error for a span.
func errorType(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	}
	return core.AsError(err).Code
}

// endSpan ends a span with the result of its operation.
func endSpan(s *otlp.Span, err error) {
	if err != nil {
		s.Fail(errorType(err))
	}
	s.End()
}

// maxOrigins is the number of submitted tasks whose requests are remembered.
const maxOrigins = 4096

// taskTracer traces tasks. The first attempt of a task that was submitted on this node belongs to the trace of the
// request. Later attempts are traces of their own, with a link to the request, because they may run hours later. After
// a restart and on other nodes the request is not known; the id of the task connects the traces.
type taskTracer struct {
	tracer *otlp.Tracer

	mu sync.Mutex
	// origins has the span of the request of each task in recent, which is a ring.
	origins map[string]otlp.SpanContext
	recent  [maxOrigins]string
	next    int
}

// newTaskTracer returns nil if traces are not exported.
func newTaskTracer(t *otlp.Tracer) task.Tracer {
	if t == nil {
		return nil
	}
	return &taskTracer{tracer: t, origins: map[string]otlp.SpanContext{}}
}

// Submitted implements task.Tracer.
func (t *taskTracer) Submitted(ctx context.Context, submitted task.Task) {
	origin := otlp.FromContext(ctx).Context()
	if !origin.Valid() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.origins, t.recent[t.next])
	t.origins[submitted.ID], t.recent[t.next] = origin, submitted.ID
	t.next = (t.next + 1) % maxOrigins
}

func (t *taskTracer) originOf(id string) otlp.SpanContext {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.origins[id]
}

// StartRun implements task.Tracer.
func (t *taskTracer) StartRun(ctx context.Context, run task.Task) (context.Context, func(task.Outcome, bool)) {
	origin := t.originOf(run.ID)
	parent := origin
	if run.Attempt > 1 {
		parent = otlp.SpanContext{}
	}
	span := t.tracer.Start(parent, "task "+run.Kind, otlp.KindInternal)
	if !span.Recording() {
		return ctx, func(task.Outcome, bool) {}
	}
	if origin.Valid() && origin != parent {
		span.Link(origin)
	}
	span.Set(otlp.String("carrel.task.id", run.ID), otlp.String("carrel.task.kind", run.Kind),
		otlp.Int("carrel.task.attempt", run.Attempt))
	if run.UserID != "" {
		span.Set(otlp.String("user.id", run.UserID))
	}
	if run.CredentialID != "" {
		span.Set(otlp.String("carrel.credential.id", run.CredentialID))
	}
	return otlp.NewContext(ctx, span), func(o task.Outcome, ends bool) {
		state := string(o.State)
		if !ends {
			state = "interrupted"
		}
		span.Set(otlp.String("carrel.task.state", state))
		if o.State == task.StateFailed {
			span.Fail(o.Code)
		}
		span.End()
	}
}

// StartStep implements task.Tracer.
func (t *taskTracer) StartStep(ctx context.Context, n int, kind string) (context.Context, func(error)) {
	ctx, span := otlp.Start(ctx, "step "+kind, otlp.KindInternal)
	span.Set(otlp.Int("carrel.step.number", n), otlp.String("carrel.step.kind", kind))
	return ctx, func(err error) { endSpan(span, err) }
}

// tracedModel traces the calls to a chat model.
type tracedModel struct {
	model.Provider
	api string
}

// traceModel returns the provider with traces if they are exported.
func (in *App) traceModel(p model.Provider) model.Provider {
	if in.tracer == nil {
		return p
	}
	return tracedModel{p, in.Config.Model.API}
}

// Stream implements model.Provider.
func (p tracedModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		name := r.Model
		if models := p.Models(); name == "" && len(models) > 0 {
			name = models[0]
		}
		ctx, span := otlp.Start(ctx, "chat "+name, otlp.KindClient)
		defer span.End()
		span.Set(otlp.String("gen_ai.operation.name", "chat"), otlp.String("gen_ai.provider.name", p.api),
			otlp.String("gen_ai.request.model", name))
		for event, err := range p.Provider.Stream(ctx, r) {
			if err != nil {
				span.Fail(chatReason(err))
			}
			if u, ok := event.(model.Usage); ok {
				span.Set(otlp.Int("gen_ai.usage.input_tokens", u.In), otlp.Int("gen_ai.usage.output_tokens", u.Out))
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// tracedEmbedder traces the calls to an embedding endpoint.
type tracedEmbedder struct{ model.Embedder }

// traceEmbedder returns the embedder with traces if they are exported.
func (in *App) traceEmbedder(e model.Embedder) model.Embedder {
	if in.tracer == nil {
		return e
	}
	return tracedEmbedder{e}
}

// Embed implements model.Embedder.
func (e tracedEmbedder) Embed(ctx context.Context, texts []string) (model.Embeddings, error) {
	ctx, span := otlp.Start(ctx, "embeddings "+e.Model(), otlp.KindClient)
	span.Set(otlp.String("gen_ai.operation.name", "embeddings"), otlp.String("gen_ai.request.model", e.Model()),
		otlp.Int("carrel.embedding.texts", len(texts)))
	out, err := e.Embedder.Embed(ctx, texts)
	if err != nil {
		span.Fail(embeddingReason(err))
	}
	span.End()
	return out, err
}

// tracedEngine traces searches.
type tracedEngine struct{ source.Engine }

// traceEngine returns the engine with traces if they are exported.
func (in *App) traceEngine(e source.Engine) source.Engine {
	if in.tracer == nil {
		return e
	}
	return tracedEngine{e}
}

// Search implements source.Engine.
func (e tracedEngine) Search(ctx context.Context, q search.Query) (search.Result, error) {
	ctx, span := otlp.Start(ctx, "search", otlp.KindInternal)
	span.Set(otlp.Int("carrel.search.sources", len(q.Sources)))
	result, err := e.Engine.Search(ctx, q)
	span.Set(otlp.Int("carrel.search.hits", len(result.Hits)))
	endSpan(span, err)
	return result, err
}

// newClient returns a client for addresses outside, which traces its requests if traces are exported. The ids of traces
// are not sent to other servers: they would let these connect requests of one user.
func (in *App) newClient(o outbound.Options) *http.Client {
	c := outbound.NewClient(o)
	if in.tracer != nil {
		c.Transport = tracedTransport{c.Transport}
	}
	return c
}

// tracedTransport traces requests to other servers until the headers of the reply.
type tracedTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t tracedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, span := otlp.Start(r.Context(), r.Method, otlp.KindClient)
	span.Set(otlp.String("http.request.method", r.Method), otlp.String("server.address", r.URL.Hostname()))
	res, err := t.RoundTripper.RoundTrip(r.WithContext(ctx))
	if res != nil {
		span.Set(otlp.Int("http.response.status_code", res.StatusCode))
	}
	endSpan(span, err)
	return res, err
}
