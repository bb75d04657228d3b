package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// admit authenticates the caller of an operation and checks access. It returns the request's context with the actor. An
// unknown path needs a valid credential only: the response is 404 or 405. For a request that waits, access is checked
// again before the response, so its context does not carry the grant.
func (a *API) admit(ctx context.Context, r *http.Request, route oas.Route, waits bool) (context.Context, error) {
	op := core.Operation(route.OperationID())
	rule, known := op.Rule()
	if rule.Access == core.AccessPublic {
		return ctx, nil
	}
	who, err := a.authenticate(r)
	if err != nil {
		return ctx, err
	}
	ctx = core.WithActor(ctx, who)
	switch {
	case op == "":
		return ctx, nil
	case !known:
		return ctx, unknownOperation(op)
	case waits:
		return ctx, a.allow(ctx, who, op, agentOf(route))
	}
	return a.allowOnce(ctx, who, op, agentOf(route))
}

// authorize authenticates the caller of a plain handler and checks access.
func (a *API) authorize(r *http.Request, op core.Operation) (core.Actor, error) {
	who, err := a.authenticate(r)
	if err != nil {
		return core.Actor{}, err
	}
	return who, a.allow(r.Context(), who, op, r.PathValue("agentId"))
}

// allow checks access to an operation, and to the agent in its path, if any.
func (a *API) allow(ctx context.Context, who core.Actor, op core.Operation, agentID string) error {
	rule, known := op.Rule()
	switch {
	case !known:
		return unknownOperation(op)
	case rule.OnAgent:
		return a.Agents.Allow(ctx, who, op, agentID)
	case rule.Proof:
		return who.AllowProved(op, a.Clock.Now())
	}
	return who.Allow(op)
}

// allowOnce is allow for a short request. The returned context carries the grant, so that services do not read it
// again.
func (a *API) allowOnce(
	ctx context.Context, who core.Actor, op core.Operation, agentID string,
) (context.Context, error) {
	if rule, _ := op.Rule(); rule.OnAgent {
		return a.Agents.AllowOnce(ctx, who, op, agentID)
	}
	return ctx, a.allow(ctx, who, op, agentID)
}

func unknownOperation(op core.Operation) error {
	return core.Internal(fmt.Errorf("operation %q has no access rule", op))
}

// agentOf returns the agent id of a route, which is the first argument of every path below an agent.
func agentOf(route oas.Route) string {
	if !strings.HasPrefix(route.PathPattern(), "/api/agents/{agentId}") {
		return ""
	}
	id, err := url.PathUnescape(route.Args()[0])
	if err != nil {
		return ""
	}
	return id
}
