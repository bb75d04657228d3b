package oauth

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
)

// protocolError is an error response of RFC 6749 and the RFCs that extend it. The description never repeats input.
type protocolError struct {
	status      int
	code        string
	description string
	// challenge is the WWW-Authenticate header; empty for none.
	challenge string
}

func (e *protocolError) Error() string { return e.code + ": " + e.description }

func badRequest(code, description string) *protocolError {
	return &protocolError{status: http.StatusBadRequest, code: code, description: description}
}

func invalidRequest(description string) *protocolError {
	return badRequest("invalid_request", description)
}

// errRepeated is returned for a repeated parameter (RFC 6749, 3.1).
var errRepeated = invalidRequest("A parameter is repeated.")

// handler is an http.HandlerFunc whose error becomes the response.
type handler func(w http.ResponseWriter, r *http.Request) error

// endpoint serves one path by method. An open endpoint allows scripts of every origin: it uses no cookies, so a foreign
// site gains nothing by calling it from a user's browser.
func (s *Service) endpoint(open bool, methods map[string]handler) http.HandlerFunc {
	if get, ok := methods[http.MethodGet]; ok {
		methods[http.MethodHead] = get
	}
	names := slices.Sorted(maps.Keys(methods))
	if open {
		names = append(names, http.MethodOptions)
	}
	allow := strings.Join(names, ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		if open {
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
		}
		if open && r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", allow)
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, MCP-Protocol-Version")
			h.Set("Access-Control-Max-Age", "86400")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		serve, ok := methods[r.Method]
		if !ok {
			h.Set("Allow", allow)
			s.writeError(w, r, &protocolError{
				status: http.StatusMethodNotAllowed, code: "invalid_request",
				description: "Method not allowed. See the Allow header.",
			})
			return
		}
		if err := serve(w, r); err != nil {
			s.writeError(w, r, err)
		}
	}
}

func (s *Service) writeError(w http.ResponseWriter, r *http.Request, err error) {
	e := s.protocolErrorOf(r, err)
	if e.challenge != "" {
		w.Header().Set("WWW-Authenticate", e.challenge)
	}
	writeJSON(w, e.status, map[string]string{"error": e.code, "error_description": e.description})
}

// protocolErrorOf returns the error response for err. Internal errors are logged here and not revealed.
func (s *Service) protocolErrorOf(r *http.Request, err error) *protocolError {
	var e *protocolError
	switch {
	case errors.As(err, &e):
		return e
	case core.IsKind(err, core.KindUnavailable):
		return &protocolError{
			status: http.StatusServiceUnavailable, code: "temporarily_unavailable",
			description: core.AsError(err).Detail,
		}
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "oauth request failed", slog.String("error", err.Error()))
	return &protocolError{
		status: http.StatusInternalServerError, code: "server_error", description: "Internal error. Try again.",
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}

// maxBody bounds forms and registrations. Real ones have a few hundred bytes.
const maxBody = 64 << 10

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return nil, &protocolError{
			status: http.StatusRequestEntityTooLarge, code: "invalid_request",
			description: "The body is larger than 64 KiB.",
		}
	case err != nil:
		return nil, invalidRequest("The request body is incomplete.")
	}
	return body, nil
}

// params are the parameters of a request. An empty value counts as absent (RFC 6749, 3.1).
type params struct {
	url.Values
	// repeated is the name of a repeated parameter. Only resource may be repeated (RFC 6749, 3.1; RFC 8707, 2).
	repeated string
}

// parseParams reads a query or a form. It refuses input that parsers interpret differently.
func parseParams(raw string) (params, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return params{}, invalidRequest("The parameters are malformed.")
	}
	p := params{Values: values}
	for name, list := range values {
		if len(list) > 1 && name != "resource" {
			p.repeated = name
		}
		for _, v := range append([]string{name}, list...) {
			if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
				return params{}, invalidRequest("The parameters must be UTF-8 without NUL characters.")
			}
		}
	}
	return p, nil
}

// readForm reads the form of a POST. It ignores the query, because URLs with secrets end up in logs.
func readForm(w http.ResponseWriter, r *http.Request) (params, error) {
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(mediaType), "application/x-www-form-urlencoded") {
		return params{}, invalidRequest("The body must be a form: Content-Type: application/x-www-form-urlencoded.")
	}
	body, err := readBody(w, r)
	if err != nil {
		return params{}, err
	}
	p, err := parseParams(string(body))
	if err != nil {
		return params{}, err
	}
	if p.repeated != "" {
		return params{}, errRepeated
	}
	return p, nil
}

// resources returns the non-empty resource parameters.
func (p params) resources() []string {
	return slices.DeleteFunc(slices.Clone(p.Values["resource"]), func(s string) bool { return s == "" })
}
