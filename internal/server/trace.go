package server

import (
	"net/http"
	"strconv"

	"carrel/internal/obs"
	"carrel/internal/otlp"
)

// endSpan ends the span of the request. The names of its attributes follow the semantic conventions of OpenTelemetry
// where these have one. The path, the query and the client's address are not exported.
func (x *exchange) endSpan(method, route string, status int) {
	if !x.span.Recording() {
		return
	}
	name := method
	if method = obs.KnownMethod(method); method != name {
		name, method = "HTTP", "_OTHER"
	}
	if route != "" {
		name += " " + route
		x.span.Set(otlp.String("http.route", route))
	}
	x.span.SetName(name)
	x.span.Set(otlp.String("http.request.method", method), otlp.Int("http.response.status_code", status),
		otlp.String("user_agent.original", cut(x.program, maxLoggedAgent)), otlp.String("carrel.request.id", x.id))
	x.mu.Lock()
	userID, credentialID := x.userID, x.credentialID
	x.mu.Unlock()
	if userID != "" {
		x.span.Set(otlp.String("user.id", userID), otlp.String("carrel.credential.id", credentialID))
	}
	if status >= http.StatusInternalServerError {
		x.span.Fail(strconv.Itoa(status))
	}
	x.span.End()
}
