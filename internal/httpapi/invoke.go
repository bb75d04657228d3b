package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"strings"

	"carrel/internal/core"
)

// MCPPath is where the MCP endpoint lies below the base address; its tokens are issued for it.
const MCPPath = "/mcp"

// Call is a request for an operation that does not come over HTTP: another protocol makes it for somebody whose
// credential it has checked. The method, the target and the body are those of the contract.
type Call struct {
	Method, Target string
	Body           []byte
	// Async asks not to wait for a turn, as Prefer: respond-async does.
	Async bool
}

// Invoke carries out a call as if its actor had sent it: the same decoder, the same checks, the same services, and so
// the same reply to the byte. A refusal is a core.Error. What the front alone does is left out: a call has no ETag and
// no Idempotency-Key.
func (a *API) Invoke(ctx context.Context, who core.Actor, c Call) (body []byte, contentType string, err error) {
	var out outcome
	ctx = context.WithValue(core.WithActor(ctx, who), outcomeKey{}, &out)
	if c.Async {
		ctx = context.WithValue(ctx, preferenceKey{}, preference{said: true})
	}
	r, err := http.NewRequestWithContext(ctx, c.Method, c.Target, bytes.NewReader(c.Body))
	if err != nil {
		return nil, "", core.NotFound("path")
	}
	rep := newReply(http.Header{})
	defer rep.free()
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/export") { // a card may be named export
		err = a.invokeExport(rep, r, who)
	} else {
		err = a.invoke(rep, r, who, &out)
	}
	if err != nil {
		return nil, "", err
	}
	return bytes.Clone(rep.body.Bytes()), rep.header.Get("Content-Type"), nil
}

// invoke carries out an operation of the generated router, with the checks in the order in which serve has them.
func (a *API) invoke(rep *reply, r *http.Request, who core.Actor, out *outcome) error {
	route, known := a.oas.FindPath(r.Method, r.URL)
	if !known {
		return core.NotFound("path")
	}
	ctx, err := a.allowOnce(r.Context(), who, core.Operation(route.OperationID()), agentOf(route))
	if err != nil {
		return err
	}
	r = r.WithContext(ctx)
	if _, err := readBody(rep, r, route.Name()); err != nil {
		return err
	}
	a.oas.ServeHTTP(rep, r)
	return out.err
}

// invokeExport is Invoke for the operations whose replies are no JSON.
func (a *API) invokeExport(rep *reply, r *http.Request, who core.Actor) error {
	// The generated router knows one of them as a card of that name, and the other not at all.
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) == 5 && parts[3] == "favourites":
		if err := a.allow(r.Context(), who, core.OpExportFavourites, parts[2]); err != nil {
			return err
		}
		return a.writeFavourites(r.Context(), rep, r, who, parts[2])
	case len(parts) == 6 && parts[3] == "threads":
		if err := a.allow(r.Context(), who, core.OpExportThread, parts[2]); err != nil {
			return err
		}
		return a.writeThread(r.Context(), rep, r, who, parts[2], parts[4])
	}
	return core.NotFound("path")
}
