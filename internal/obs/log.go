// Package obs provides the log and the metrics of the service. Both are free of secrets.
package obs

import (
	"context"
	"io"
	"log/slog"

	"carrel/internal/otlp"
)

// LogOptions configure a logger.
type LogOptions struct {
	// Format is "text", "json", or "auto": text on a terminal, JSON otherwise.
	Format string
	// Level is the minimum level.
	Level slog.Leveler
	// Terminal is set if the output is a terminal.
	Terminal bool
	// Prefixes are the prefixes of credentials to redact ("crl" for crl_…).
	Prefixes []string
}

// NewLogger returns a logger that redacts secrets, prints durations in seconds, and adds the request id and the
// id of the trace to lines logged with the context of a request or a task.
func NewLogger(w io.Writer, opts LogOptions) *slog.Logger {
	redactor := newRedactor(opts.Prefixes)
	handlerOpts := &slog.HandlerOptions{Level: opts.Level, ReplaceAttr: redactor.attr}
	var h slog.Handler
	if opts.Format == "text" || opts.Format != "json" && opts.Terminal {
		h = slog.NewTextHandler(w, handlerOpts)
	} else {
		h = slog.NewJSONHandler(w, handlerOpts)
	}
	return slog.New(requestHandler{h})
}

// RequestIDKey is the context key of the request id, a string.
type RequestIDKey struct{}

// RequestID returns the request id of the context, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(RequestIDKey{}).(string)
	return id
}

// requestHandler adds the request id and the trace id of the context to every record.
type requestHandler struct {
	slog.Handler
}

func (h requestHandler) Handle(ctx context.Context, rec slog.Record) error {
	if id := RequestID(ctx); id != "" {
		rec.AddAttrs(slog.String("requestId", id))
	}
	if span := otlp.FromContext(ctx); span != nil {
		rec.AddAttrs(slog.String("traceId", span.Context().TraceID.String()))
	}
	return h.Handler.Handle(ctx, rec)
}

func (h requestHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(attrs)}
}

func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name)}
}
