package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-faster/jx"

	"carrel/internal/core"
	"carrel/internal/oauth"
)

// statuses maps the kinds of errors to HTTP statuses.
var statuses = map[core.Kind]int{
	core.KindInvalid:         http.StatusBadRequest,
	core.KindUnauthenticated: http.StatusUnauthorized,
	core.KindPaymentRequired: http.StatusPaymentRequired,
	core.KindForbidden:       http.StatusForbidden,
	core.KindNotFound:        http.StatusNotFound,
	core.KindMethod:          http.StatusMethodNotAllowed,
	core.KindNotAcceptable:   http.StatusNotAcceptable,
	core.KindConflict:        http.StatusConflict,
	core.KindPrecondition:    http.StatusPreconditionFailed,
	core.KindTooLarge:        http.StatusRequestEntityTooLarge,
	core.KindUnsupported:     http.StatusUnsupportedMediaType,
	core.KindMismatch:        http.StatusUnprocessableEntity,
	core.KindRateLimited:     http.StatusTooManyRequests,
	core.KindUnavailable:     http.StatusServiceUnavailable,
	core.KindUpstream:        http.StatusBadGateway,
	core.KindTimeout:         http.StatusGatewayTimeout,
	core.KindInternal:        http.StatusInternalServerError,
}

// statusClientClosed is logged for a request whose client disconnected (as in nginx).
const statusClientClosed = 499

// Problems writes errors as problem details (RFC 9457).
type Problems struct {
	baseURL string
	log     *slog.Logger
}

// NewProblems returns a writer of problems whose type URLs start with baseURL.
func NewProblems(baseURL string, log *slog.Logger) *Problems {
	return &Problems{baseURL: baseURL, log: log}
}

// Write answers a request with an error. Internal errors are logged here, once, and their cause is not sent.
func (p *Problems) Write(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		w.WriteHeader(statusClientClosed)
		return
	}
	e := core.AsError(err)
	status, ok := statuses[e.Kind]
	if !ok {
		status = http.StatusInternalServerError
	}
	requestID := w.Header().Get("X-Request-Id")
	if status >= http.StatusInternalServerError {
		p.log.LogAttrs(r.Context(), slog.LevelError, "request failed", slog.String("error", err.Error()))
	}
	h := w.Header()
	for _, name := range []string{"Content-Length", "ETag", "Content-Disposition", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	p.challenge(h, r, status, e)
	if e.RetryAfter > 0 && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
	body := p.encode(e, status, requestID)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

// challengeScope is the scope in the challenge of a request without a valid token. Clients request exactly these
// scopes. Without offline_access they would get no refresh token, and the user would have to consent every hour.
const challengeScope = string(core.ScopeAgents) + " " + string(core.ScopeManage) + " " + oauth.ScopeOffline

// challenge sets WWW-Authenticate on a 401, and on a 403 for lack of a scope (RFC 6750, 3; RFC 9728, 5.1). A request
// without a bearer token or a session gets no error attribute (RFC 6750, 3.1). MCP clients require that the metadata
// names the exact URL that they connect to.
func (p *Problems) challenge(h http.Header, r *http.Request, status int, e *core.Error) {
	resource := ""
	if r.URL.Path == MCPPath {
		resource = MCPPath
	}
	_, bearer := core.BearerToken(r.Header.Values("Authorization"))
	metadata := `", resource_metadata="` + p.baseURL + `/.well-known/oauth-protected-resource` + resource + `"`
	switch {
	case status == http.StatusUnauthorized && (e.Code == codeMissingCredential || errors.Is(bearer, core.ErrOtherScheme)):
		h.Set("WWW-Authenticate", `Bearer scope="`+challengeScope+metadata)
	case status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer error="invalid_token", scope="`+challengeScope+metadata)
	case e.Scope != "":
		h.Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+string(e.Scope)+metadata)
	}
}

// codeMissingCredential is the error code for a request without a credential.
const codeMissingCredential = "missing_credential"

func (p *Problems) encode(e *core.Error, status int, requestID string) []byte {
	var w jx.Writer
	field := func(name, value string) {
		w.Comma()
		w.FieldStart(name)
		w.Str(value)
	}
	w.ObjStart()
	w.FieldStart("type")
	w.Str(p.baseURL + "/docs#" + e.Code)
	field("title", http.StatusText(status))
	w.Comma()
	w.FieldStart("status")
	w.Int(status)
	field("detail", e.Detail)
	field("code", e.Code)
	field("requestId", requestID)
	if e.Spend != nil {
		p.encodeCap(&w, *e.Spend)
	}
	if len(e.Fields) > 0 {
		w.Comma()
		w.FieldStart("errors")
		w.ArrStart()
		for i, f := range e.Fields {
			if i > 0 {
				w.Comma()
			}
			w.ObjStart()
			w.FieldStart("pointer")
			w.Str(f.Pointer)
			field("detail", f.Detail)
			w.ObjEnd()
		}
		w.ArrEnd()
	}
	w.ObjEnd()
	return w.Buf
}

// usagePage is the page of the web app that shows the spend of an account and its caps.
const usagePage = "/settings/usage"

// encodeCap writes the members of a problem that describe the cap that is reached. The cap of a turn does not reset.
func (p *Problems) encodeCap(w *jx.Writer, s core.Spend) {
	for _, amount := range []struct {
		name   string
		micros int64
	}{{"capMicros", s.Cap}, {"usedMicros", s.Used}} {
		w.Comma()
		w.FieldStart(amount.name)
		w.Int64(amount.micros)
	}
	texts := [][2]string{{"link", p.baseURL + usagePage}}
	if !s.ResetsAt.IsZero() {
		texts = append(texts, [2]string{"resetsAt", timestamp(s.ResetsAt)})
	}
	for _, text := range texts {
		w.Comma()
		w.FieldStart(text[0])
		w.Str(text[1])
	}
}

// malformed is the error for a body that is not strict JSON.
func malformed(detail string) *core.Error {
	return &core.Error{Kind: core.KindInvalid, Code: "malformed_json", Detail: detail}
}

// methodNotAllowed is the error for a method that a path does not have. The Allow header lists the methods.
func methodNotAllowed() *core.Error {
	return &core.Error{
		Kind: core.KindMethod, Code: "method_not_allowed",
		Detail: "This path does not support that method. See the Allow header.",
	}
}

// mediaType returns the media type of a header value in lower case, without parameters.
func mediaType(header string) string {
	name, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(name))
}
