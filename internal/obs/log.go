// Package obs is how an operator sees what the service does: its log and its metrics. Neither ever holds a secret.
package obs

import (
	"context"
	"io"
	"log/slog"
)

// LogOptions is how the log looks.
type LogOptions struct {
	// Format is "text", "json", or "auto": text for a person at a terminal, JSON for a collector otherwise.
	Format string
	// Level is the least level that is written.
	Level slog.Leveler
	// Terminal is whether the log is read by a person at a terminal.
	Terminal bool
	// Prefixes start the credentials that must never be written ("crl" for crl_…).
	Prefixes []string
}

// NewLogger returns the logger of the process. It masks secrets in every line, and adds the request id to lines
// that are logged with the context of a request.
func NewLogger(w io.Writer, opts LogOptions) *slog.Logger {
	mask := newMasker(opts.Prefixes)
	handlerOpts := &slog.HandlerOptions{Level: opts.Level, ReplaceAttr: mask.attr}
	var h slog.Handler
	if opts.Format == "text" || opts.Format != "json" && opts.Terminal {
		h = slog.NewTextHandler(w, handlerOpts)
	} else {
		h = slog.NewJSONHandler(w, handlerOpts)
	}
	return slog.New(requestHandler{h})
}

// RequestIDKey is the context key under which the id of a request is found, as a string.
type RequestIDKey struct{}

// RequestID returns the id of the request that the context belongs to, or the empty string.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(RequestIDKey{}).(string)
	return id
}

// requestHandler adds the request id, so that nobody has to pass it along by hand.
type requestHandler struct {
	slog.Handler
}

func (h requestHandler) Handle(ctx context.Context, rec slog.Record) error {
	if id := RequestID(ctx); id != "" {
		rec.AddAttrs(slog.String("requestId", id))
	}
	return h.Handler.Handle(ctx, rec)
}

func (h requestHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(attrs)}
}

func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name)}
}
