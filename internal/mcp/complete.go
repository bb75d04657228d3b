package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
	"carrel/internal/httpapi/oas"
)

// maxCompletions is the largest number of suggestions that the protocol allows.
const maxCompletions = 100

// candidate is a suggestion, found by its id or its name.
type candidate struct{ id, name string }

// complete suggests ids for a partly typed argument: the user types the start of an id or a part of a name.
func (s *Server) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	who, typed := actorOf(r), strings.TrimSpace(r.Params.Argument.Value)
	given := map[string]string{}
	if r.Params.Context != nil && r.Params.Context.Arguments != nil {
		given = r.Params.Context.Arguments
	}
	var found []candidate
	var err error
	switch agentID := given["agentId"]; {
	case !hasArgument(r.Params.Ref, r.Params.Argument.Name):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such argument."}
	case r.Params.Argument.Name == "agentId":
		found, err = s.agentCandidates(ctx, who)
	case agentID == "":
		// Sources, threads and documents belong to an agent, which is not chosen yet.
	case r.Params.Argument.Name == "sourceId":
		found, err = s.sourceCandidates(ctx, who, agentID)
	case r.Params.Argument.Name == "threadId":
		found, err = s.threadCandidates(ctx, who, agentID)
	case r.Params.Argument.Name == "documentId" && typed != "":
		return completion(s.documentCandidates(ctx, who, agentID, typed))
	}
	return completion(matching(found, typed), err)
}

// hasArgument reports whether a prompt or a resource template has an argument of this name.
func hasArgument(ref *sdk.CompleteReference, argument string) bool {
	for _, p := range prompts {
		for _, a := range p.arguments {
			if ref.Name == p.name && a.Name == argument {
				return true
			}
		}
	}
	for _, t := range templates {
		if ref.URI == t.uri && strings.Contains(t.uri, "{"+argument+"}") {
			return true
		}
	}
	return false
}

// completion returns candidates as a result. Without access there are no suggestions, which is not an error.
func completion(found []candidate, err error) (*sdk.CompleteResult, error) {
	if err != nil && !core.IsRefusal(err) {
		return nil, err
	}
	details := sdk.CompletionResultDetails{Values: []string{}, Total: len(found), HasMore: len(found) > maxCompletions}
	for _, f := range found[:min(len(found), maxCompletions)] {
		details.Values = append(details.Values, f.id)
	}
	return &sdk.CompleteResult{Completion: details}, nil
}

func matching(all []candidate, typed string) (out []candidate) {
	typed = strings.ToLower(typed)
	for _, c := range all {
		if strings.HasPrefix(strings.ToLower(c.id), typed) || strings.Contains(strings.ToLower(c.name), typed) {
			out = append(out, c)
		}
	}
	return out
}

func (s *Server) agentCandidates(ctx context.Context, who core.Actor) (out []candidate, err error) {
	agents, _, err := s.agents(ctx, who, httpapi.Arguments{"limit": marshal(200)})
	for _, a := range agents {
		out = append(out, candidate{a.ID, a.Name})
	}
	return out, err
}

func (s *Server) sourceCandidates(ctx context.Context, who core.Actor, agentID string) (out []candidate, err error) {
	reply, err := invoke[*oas.AgentReply](ctx, s.api, who, core.OpGetAgent, httpapi.Arguments{"agentId": marshal(agentID)})
	if err != nil {
		return nil, err
	}
	for _, source := range reply.Agent.Sources {
		out = append(out, candidate{source.ID, source.Name})
	}
	return out, nil
}

func (s *Server) threadCandidates(ctx context.Context, who core.Actor, agentID string) (out []candidate, err error) {
	reply, err := invoke[*oas.ThreadList](ctx, s.api, who, core.OpListThreads,
		httpapi.Arguments{"agentId": marshal(agentID), "limit": marshal(200)})
	if err != nil {
		return nil, err
	}
	for _, t := range reply.Threads {
		out = append(out, candidate{t.ID, t.Title})
	}
	return out, nil
}

// documentCandidates searches the agent's sources, which may hold too many documents to list.
func (s *Server) documentCandidates(
	ctx context.Context, who core.Actor, agentID, typed string,
) (out []candidate, err error) {
	reply, err := invoke[*oas.SearchReply](ctx, s.api, who, core.OpSearch, httpapi.Arguments{
		"agentId": marshal(agentID), "query": marshal(typed), "numResults": marshal(20), "facets": marshal(false),
	})
	if err != nil {
		return nil, err
	}
	for _, card := range reply.Results {
		out = append(out, candidate{card.DocumentId, card.Title})
	}
	return out, nil
}
