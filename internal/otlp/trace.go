package otlp

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"sync"
	"time"
)

// TraceID identifies a trace. The zero value is invalid.
type TraceID [16]byte

// String returns the id in lower-case hexadecimal digits.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// SpanID identifies a span of a trace. The zero value is invalid.
type SpanID [8]byte

// String returns the id in lower-case hexadecimal digits.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// SpanContext identifies a span across processes. The zero value identifies none.
type SpanContext struct {
	TraceID TraceID
	SpanID  SpanID
	// Sampled is set if the spans of the trace are exported.
	Sampled bool
}

// Valid reports whether the context identifies a span.
func (c SpanContext) Valid() bool { return c.TraceID != TraceID{} && c.SpanID != SpanID{} }

// Kind is the role of a span, with the numbers of the protocol.
type Kind int

// The kinds of spans.
const (
	KindInternal Kind = 1
	KindServer   Kind = 2
	KindClient   Kind = 3
)

// Attribute is a named value of a span: a text or a whole number.
type Attribute struct {
	key, text string
	number    int64
	isNumber  bool
}

// String returns an attribute with a text.
func String(key, value string) Attribute { return Attribute{key: key, text: value} }

// Int returns an attribute with a whole number.
func Int(key string, value int) Attribute {
	return Attribute{key: key, number: int64(value), isNumber: true}
}

// ErrorType is the key of the attribute with the class of an error, such as its code. Messages of errors are not
// exported, because they may quote input.
const ErrorType = "error.type"

// Span is a timed operation of a trace. Its methods are safe for concurrent use, and do nothing on a nil Span.
type Span struct {
	tracer  *Tracer
	context SpanContext
	parent  SpanID
	kind    Kind
	started time.Time

	mu         sync.Mutex
	name       string
	attributes []Attribute
	links      []SpanContext
	failed     bool
	ended      time.Time // zero until End
}

// Start starts a span without changing a context. A valid parent, which may belong to another process, decides whether
// the span is sampled; without one the span starts a trace, which is sampled with the configured probability. A nil
// Tracer returns nil.
func (t *Tracer) Start(parent SpanContext, name string, kind Kind) *Span {
	if t == nil {
		return nil
	}
	s := &Span{tracer: t, kind: kind, name: name}
	if parent.Valid() {
		s.context, s.parent = parent, parent.SpanID
	} else {
		s.context.TraceID = newTraceID()
		s.context.Sampled = t.samples(s.context.TraceID)
	}
	s.context.SpanID = newSpanID()
	if s.context.Sampled {
		s.started = time.Now()
	}
	return s
}

// samples decides by the random bits of a trace id, so that every process with the same ratio decides alike.
func (t *Tracer) samples(id TraceID) bool {
	const bits = 53 // of a float64
	return float64(binary.BigEndian.Uint64(id[8:])>>(64-bits)) < t.options.Sample*(1<<bits)
}

// Start starts a child of the span of the context and returns a context with it. It returns the same context and nil if
// there is no span, or if its trace is not sampled.
func Start(ctx context.Context, name string, kind Kind) (context.Context, *Span) {
	parent := FromContext(ctx)
	if !parent.Recording() {
		return ctx, nil
	}
	s := parent.tracer.Start(parent.context, name, kind)
	return NewContext(ctx, s), s
}

// SpanKey is the context key of the span, a *Span.
type SpanKey struct{}

// NewContext returns a context with the span.
func NewContext(ctx context.Context, s *Span) context.Context {
	return context.WithValue(ctx, SpanKey{}, s)
}

// FromContext returns the span of the context, or nil.
func FromContext(ctx context.Context) *Span {
	s, _ := ctx.Value(SpanKey{}).(*Span)
	return s
}

// Context returns what identifies the span. It is the zero value for nil.
func (s *Span) Context() SpanContext {
	if s == nil {
		return SpanContext{}
	}
	return s.context
}

// Recording reports whether the span will be exported, so that computing its attributes is worthwhile.
func (s *Span) Recording() bool { return s != nil && s.context.Sampled }

// SetName replaces the name of the span.
func (s *Span) SetName(name string) {
	s.change(func() { s.name = name })
}

// Set adds attributes.
func (s *Span) Set(attributes ...Attribute) {
	s.change(func() { s.attributes = append(s.attributes, attributes...) })
}

// Link connects the span to a span that caused it and is not its parent.
func (s *Span) Link(c SpanContext) {
	s.change(func() { s.links = append(s.links, c) })
}

// Fail marks the span as failed with the class of the error.
func (s *Span) Fail(errorType string) {
	s.change(func() {
		s.failed = true
		s.attributes = append(s.attributes, String(ErrorType, errorType))
	})
}

// change applies a change to a span that is recording and has not ended.
func (s *Span) change(apply func()) {
	if !s.Recording() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.IsZero() {
		apply()
	}
}

// End ends the span and queues it for export. It never waits: if the queue is full, the span is dropped and counted.
// Later calls have no effect.
func (s *Span) End() {
	s.change(func() {
		s.ended = s.started.Add(time.Since(s.started)) // by the monotonic clock
		s.tracer.enqueue(s)
	})
}

// newTraceID returns a random id. Ids are not secrets, so math/rand is sufficient.
func newTraceID() (id TraceID) {
	for id == (TraceID{}) {
		binary.BigEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // not a secret
		binary.BigEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // not a secret
	}
	return id
}

func newSpanID() (id SpanID) {
	for id == (SpanID{}) {
		binary.BigEndian.PutUint64(id[:], rand.Uint64()) //nolint:gosec // not a secret
	}
	return id
}
