package client

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Error is an error reply of the server: a problem detail (RFC 9457), or the status of a proxy in front of it.
type Error struct {
	// Status is the status of the reply.
	Status int
	// Code is stable, one of the constants of this package. It is empty if the reply is no problem detail.
	Code string
	// Detail says what to do.
	Detail string
	// RequestID identifies the request in the server's log.
	RequestID string
	// Fields are the invalid fields of the request.
	Fields []FieldProblem
	// RetryAfter is the pause that the server requests, or zero.
	RetryAfter time.Duration
	// Body is the body of the reply, cut at 1 MiB.
	Body []byte
}

// Error returns the detail.
func (e *Error) Error() string { return e.Detail }

// maxProblem limits the size of an error reply.
const maxProblem = 1 << 20

// readError reads an error reply and closes its body.
func readError(res *http.Response) *Error {
	defer func() { _ = res.Body.Close() }()
	var problem struct {
		Detail, Code, RequestID string
		Errors                  []FieldProblem
		// Description is the detail of an error of the authorization server.
		Description string `json:"error_description"`
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxProblem)) // the status is known in any case
	_ = json.Unmarshal(body, &problem)                          // a proxy replies with HTML
	e := &Error{
		Status: res.StatusCode, Code: problem.Code, Detail: problem.Detail, RequestID: problem.RequestID,
		Fields: problem.Errors, Body: body,
	}
	if e.Detail == "" {
		e.Detail = problem.Description
	}
	if e.Detail == "" {
		e.Detail = "the server replied with status " + res.Status
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(res.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = max(0, time.Until(at))
	}
	return e
}
