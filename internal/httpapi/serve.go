package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"carrel/internal/core"
)

// maxBody limits the size of a JSON body.
const maxBody = 1 << 20

// outcome carries results past the generated code to serve: the error of a handler, and the turn of a message, which is
// known even if sending failed.
type outcome struct {
	err  error
	turn string
}

type outcomeKey struct{}

// outcomeContext carries the outcome of a request in the same allocation.
type outcomeContext struct {
	context.Context
	outcome
}

// Value implements context.Context.
func (c *outcomeContext) Value(key any) any {
	if _, ok := key.(outcomeKey); ok {
		return &c.outcome
	}
	return c.Context.Value(key)
}

func withOutcome(ctx context.Context) (context.Context, *outcome) {
	c := &outcomeContext{Context: ctx}
	return c, &c.outcome
}

func outcomeOf(ctx context.Context) *outcome {
	o, _ := ctx.Value(outcomeKey{}).(*outcome)
	if o == nil {
		return &outcome{}
	}
	return o
}

// reply buffers the response of a handler, so that it can get an ETag, be stored for a retry, or be replaced by an
// error.
type reply struct {
	header http.Header
	// exposed is the list of headers for pages of other origins that the server has set. The generated code would
	// replace it by the headers that it sets itself.
	exposed []string
	status  int
	body    bytes.Buffer
}

func (r *reply) Header() http.Header         { return r.header }
func (r *reply) Write(b []byte) (int, error) { return r.body.Write(b) }

func (r *reply) WriteHeader(status int) {
	r.status = status
	if r.exposed == nil {
		delete(r.header, exposedHeaders)
	} else {
		r.header[exposedHeaders] = r.exposed
	}
}

const exposedHeaders = "Access-Control-Expose-Headers"

var replies = sync.Pool{New: func() any { return new(reply) }}

// maxPooledReply is the largest buffer that is returned to the pool, so that a single large list does not stay in
// memory.
const maxPooledReply = 1 << 18

func newReply(header http.Header) *reply {
	r := replies.Get().(*reply)
	r.header, r.status, r.exposed = header, http.StatusOK, header[exposedHeaders]
	r.body.Reset()
	return r
}

func (r *reply) free() {
	if r.body.Cap() <= maxPooledReply {
		r.header, r.exposed = nil, nil
		replies.Put(r)
	}
}

// serve answers a request of any operation. It checks in one order: credential (401), permission (403, or 404 for an
// agent that the caller has no access to), payment (402), then the request itself (400); see docs/api.md.
func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet // net/http does not send the body
	}
	plain, values := a.plain.match(r.URL)
	if plain != nil {
		if handler := plain.handler(r.Method); handler != nil {
			a.hooks.Route(ctx, plain.pattern)
			for name, value := range values {
				r.SetPathValue(name, value)
			}
			handler(w, r)
			return
		}
	}
	route, known := a.oas.FindPath(method, r.URL)
	switch { // before anything can be refused, so that refusals are counted under the route
	case known:
		a.hooks.Route(ctx, route.PathPattern())
	case plain != nil:
		a.hooks.Route(ctx, plain.pattern)
	}
	op := core.Operation(route.OperationID())
	traits, _ := op.Traits()
	deprecate(w.Header(), op, traits.Deprecated)
	ctx = withPreference(ctx, r)
	wait := pollFor(ctx, r, op)
	ctx, err := a.admit(ctx, r, route, wait > 0)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	ctx, out := withOutcome(ctx)
	r = r.WithContext(ctx)
	r.Method = method
	streams := op == core.OpSendMessage && wantsEvents(r)
	if err := acceptsJSON(r); err != nil && !streams && (known || plain == nil) {
		a.problems.Write(w, r, err)
		return
	}
	body, err := readBody(w, r, traits.Body)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	release, err := a.checkIfMatch(r, route, body)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	defer release()
	if streams {
		a.serveTurn(w, r, route, traits, body, out)
		return
	}
	if op == core.OpSendMessage || wait > 0 {
		if p := preferenceOf(ctx); p.given {
			w.Header().Set("Preference-Applied", p.applied)
		}
	}
	rep := newReply(w.Header())
	defer rep.free()
	if wait > 0 {
		a.poll(rep, r, route.Args()[1], wait, out)
	} else {
		a.carryOut(rep, r, traits, body, out)
	}
	if out.err != nil {
		a.problems.Write(w, r, out.err)
		return
	}
	a.send(w, r, rep, unknownFields(op, r.URL.RawQuery, body))
}

// carryOut carries out an operation, once for each idempotency key.
func (a *API) carryOut(rep *reply, r *http.Request, traits core.Traits, body []byte, out *outcome) {
	key, keyed := idempotencyKey(r)
	switch {
	case keyed && traits.Creates == core.CreatesResource:
		out.err = a.once(rep, r, traits.Secret, key, body, out)
	case keyed && traits.Creates == core.CreatesTurn:
		out.err = a.onceTurn(rep, r, key, body, out)
	default:
		a.oas.ServeHTTP(rep, r)
	}
}

// Header values that replies share: methods of http.Header replace a slice or append to it, which copies.
var (
	noStore        = []string{"no-store"}
	privateNoCache = []string{"private, no-cache"}
	varyCredential = []string{"Authorization, Cookie"}
)

// send writes a reply with warnings about unknown fields. The reply to a GET gets an ETag, and becomes a 304 if the
// client's ETag matches. The ETag does not depend on the warnings, which are the same for every request to a URL.
func (a *API) send(w http.ResponseWriter, r *http.Request, rep *reply, unknown []string) {
	h := w.Header()
	body := rep.body.Bytes()
	values := new([2]string) // of the ETag and Content-Length headers, in one allocation
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h["Cache-Control"] = noStore
	} else if rep.status == http.StatusOK {
		tag := etag(body)
		values[0] = tag
		h["Etag"] = values[:1:1]
		h["Cache-Control"] = privateNoCache
		if h["Vary"] == nil {
			h["Vary"] = varyCredential
		} else {
			h.Add("Vary", varyCredential[0])
		}
		if matches(strings.Join(r.Header.Values("If-None-Match"), ","), tag) {
			h.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body = withWarnings(body, unknown)
	values[1] = strconv.Itoa(len(body))
	h["Content-Length"] = values[1:]
	w.WriteHeader(rep.status)
	_, _ = w.Write(body) // the client may have disconnected
}

// etag returns the hash of a body, which is the same on all nodes.
func etag(body []byte) string {
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], xxhash.Sum64(body))
	var b [13]byte
	b[0], b[12] = '"', '"'
	base64.RawURLEncoding.Encode(b[1:12], sum[:])
	return string(b[:])
}

// matches reports whether an If-None-Match header contains the tag (weak comparison, RFC 9110, 13.1.2).
func matches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}

// acceptsJSON refuses a request whose Accept header excludes JSON. The most specific range that covers JSON decides
// (RFC 9110, 12.5.1): "application/json;q=0, */*" means everything but JSON.
func acceptsJSON(r *http.Request) error {
	lines := r.Header["Accept"]
	if len(lines) == 1 && (lines[0] == "application/json" || lines[0] == "*/*") {
		return nil // what nearly all clients send
	}
	header := strings.Join(lines, ",")
	if strings.Trim(header, ", \t") == "" {
		return nil
	}
	accepted, specific := false, 0
	for part := range strings.SplitSeq(header, ",") {
		rank := slices.Index([]string{"*/*", "application/*", "application/json"}, mediaType(part)) + 1
		if rank > specific || rank == specific && rank > 0 && !refused(part) {
			accepted, specific = !refused(part), rank
		}
	}
	if accepted {
		return nil
	}
	return &core.Error{
		Kind: core.KindNotAcceptable, Code: "not_acceptable", Detail: "Replies are JSON. Accept application/json.",
	}
}

// refused reports whether a media range has weight 0.
func refused(mediaRange string) bool {
	_, params, _ := strings.Cut(mediaRange, ";")
	for p := range strings.SplitSeq(params, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(p), "="); ok && strings.EqualFold(name, "q") {
			weight, err := strconv.ParseFloat(value, 64)
			return err == nil && weight == 0
		}
	}
	return false
}

// readBody reads and checks the body of a request and puts it back for the decoder. A body of white space counts as
// empty. A request for an unknown path or method has no body either: it is answered with 404 or 405 in any case.
func readBody(w http.ResponseWriter, r *http.Request, wanted core.Body) ([]byte, error) {
	if wanted == core.BodyNone {
		r.Body, r.ContentLength = http.NoBody, 0
		return nil, nil
	}
	if r.ContentLength > maxBody {
		return nil, closeConnection(w, tooLarge(maxBody))
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return nil, closeConnection(w, tooLarge(maxBody))
	case err != nil:
		return nil, malformed("The body is incomplete.")
	}
	body := buf.Bytes()
	if len(bytes.TrimSpace(body)) == 0 {
		r.Header.Del("Content-Type")
		r.Body, r.ContentLength = http.NoBody, 0
		if wanted == core.BodyRequired {
			return nil, malformed("The body is empty. Send a JSON object.")
		}
		return nil, nil
	}
	if ct := r.Header.Get("Content-Type"); ct != "" && mediaType(ct) != "application/json" {
		return nil, &core.Error{
			Kind: core.KindUnsupported, Code: "unsupported_media_type",
			Detail: "The body must be JSON: Content-Type: application/json.",
		}
	}
	if body, err = checkBody(body); err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return body, nil
}

// checkBody refuses a body that is not strict JSON, and returns it with its integers in plain form.
func checkBody(body []byte) ([]byte, error) {
	normal, err := normalJSON(body)
	var nul nulError
	switch {
	case errors.As(err, &nul):
		return nil, core.InvalidField(nul.pointer, "Must not contain a NUL character.")
	case err != nil:
		return nil, malformed("The body must be one JSON object in UTF-8, without duplicate keys and nested at most 64 deep.")
	}
	return normal, nil
}

func tooLarge(limit int64) error {
	return &core.Error{
		Kind: core.KindTooLarge, Code: "body_too_large",
		Detail: "The body is larger than " + strconv.FormatInt(limit>>20, 10) + " MiB.",
	}
}

// closeConnection closes the connection after the response. Otherwise net/http would first read the rest of the body:
// it closes the connection itself only for handlers that get its own ResponseWriter.
func closeConnection(w http.ResponseWriter, err error) error {
	w.Header().Set("Connection", "close")
	return err
}
