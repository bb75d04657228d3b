package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
)

// maxCompletions is the most that the protocol lets a server suggest.
const maxCompletions = 100

// named is something that can be meant: by its id, or by what people call it.
type named struct{ id, name string }

// complete suggests ids for what somebody has typed: the beginning of an id, or a part of a name.
func (s *Server) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	who, typed := actorOf(r), strings.TrimSpace(r.Params.Argument.Value)
	given := map[string]string{}
	if r.Params.Context != nil && r.Params.Context.Arguments != nil {
		given = r.Params.Context.Arguments
	}
	var found []named
	var err error
	switch agentID := given["agentId"]; {
	case !s.takes(r.Params.Ref, r.Params.Argument.Name):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such argument."}
	case r.Params.Argument.Name == "agentId":
		found, err = s.namedAgents(ctx, who)
	case agentID == "":
		// What belongs to an agent can't be suggested before it is known which.
	case r.Params.Argument.Name == "sourceId":
		found, err = s.namedSources(ctx, who, agentID)
	case r.Params.Argument.Name == "threadId":
		found, err = s.namedThreads(ctx, who, agentID)
	case r.Params.Argument.Name == "documentId" && typed != "":
		return s.suggest(s.foundDocuments(ctx, who, agentID, typed))
	}
	return s.suggest(matching(found, typed), err)
}

// takes reports whether a prompt or a template has an argument of this name.
func (s *Server) takes(ref *sdk.CompleteReference, argument string) bool {
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

// suggest makes a result. What somebody may not read has no suggestions, which is no error.
func (*Server) suggest(found []named, err error) (*sdk.CompleteResult, error) {
	if err != nil && !core.IsRefusal(err) {
		return nil, err
	}
	details := sdk.CompletionResultDetails{Values: []string{}, Total: len(found), HasMore: len(found) > maxCompletions}
	for _, f := range found[:min(len(found), maxCompletions)] {
		details.Values = append(details.Values, f.id)
	}
	return &sdk.CompleteResult{Completion: details}, nil
}

func matching(all []named, typed string) (out []named) {
	typed = strings.ToLower(typed)
	for _, n := range all {
		if strings.HasPrefix(strings.ToLower(n.id), typed) || strings.Contains(strings.ToLower(n.name), typed) {
			out = append(out, n)
		}
	}
	return out
}

func (s *Server) namedAgents(ctx context.Context, who core.Actor) (out []named, err error) {
	page, err := s.agents(ctx, who, url.Values{"limit": {"200"}})
	for _, a := range page.Agents {
		out = append(out, named{a.ID, a.Name})
	}
	return out, err
}

func (s *Server) namedSources(ctx context.Context, who core.Actor, agentID string) (out []named, err error) {
	var reply struct {
		Agent struct {
			Sources []struct{ ID, Name string }
		}
	}
	err = s.fetch(ctx, who, "/api/agents/"+url.PathEscape(agentID), &reply)
	for _, source := range reply.Agent.Sources {
		out = append(out, named{source.ID, source.Name})
	}
	return out, err
}

func (s *Server) namedThreads(ctx context.Context, who core.Actor, agentID string) (out []named, err error) {
	var reply struct {
		Threads []struct{ ID, Title string }
	}
	err = s.fetch(ctx, who, "/api/agents/"+url.PathEscape(agentID)+"/threads?limit=200", &reply)
	for _, t := range reply.Threads {
		out = append(out, named{t.ID, t.Title})
	}
	return out, err
}

// foundDocuments searches: a source may hold millions, which nobody wants listed.
func (s *Server) foundDocuments(ctx context.Context, who core.Actor, agentID, typed string) (out []named, err error) {
	body, _, err := s.api.Invoke(ctx, who, httpapi.Call{
		Method: http.MethodPost, Target: "/api/agents/" + url.PathEscape(agentID) + "/search",
		Body: marshal(map[string]any{"query": typed, "numResults": 20, "facets": false}),
	})
	if err != nil {
		return nil, err
	}
	var reply struct {
		Results []struct{ DocumentID, Title string }
	}
	err = json.Unmarshal(body, &reply)
	for _, card := range reply.Results {
		out = append(out, named{card.DocumentID, card.Title})
	}
	return out, err
}

// fetch reads something into a value.
func (s *Server) fetch(ctx context.Context, who core.Actor, target string, into any) error {
	body, _, err := s.api.Invoke(ctx, who, httpapi.Call{Method: http.MethodGet, Target: target})
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}
