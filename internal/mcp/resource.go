package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
)

// scheme begins every resource. What follows is the path of the REST API below /api.
const scheme = "carrel://"

const (
	typeJSON     = "application/json"
	typeMarkdown = "text/markdown"
)

func documentURI(agentID, documentID string) string {
	return scheme + "agents/" + agentID + "/documents/" + documentID
}

// template is a kind of resource.
type template struct {
	uri, name, title, description, mime, tag string
	// target is the call that reads it, with the names of the URI's parameters.
	target string
	// render makes the text of the reply; nil is the reply as it is.
	render func(body []byte) (string, error)
}

var templates = []template{
	{
		uri: scheme + "agents/{agentId}", name: "agent", title: "Agent", mime: typeJSON, tag: "agents", target: "/api/agents/{agentId}",
		description: "An agent: its instructions, its sources, and what may be done with it.",
		render:      func(body []byte) (string, error) { return string(fenceJSON(body, false)), nil },
	},
	{
		uri: scheme + "agents/{agentId}/memories", name: "memories", title: "Memories", mime: typeJSON, tag: "memories",
		target: "/api/agents/{agentId}/memories?limit=200", description: "What the agent remembers, newest first.",
	},
	{
		uri: scheme + "agents/{agentId}/threads/{threadId}", name: "thread", title: "Conversation", mime: typeMarkdown, tag: "threads",
		target: "/api/agents/{agentId}/threads/{threadId}/export?format=markdown", description: "A conversation with its citations, to be read.",
	},
	{
		uri: scheme + "agents/{agentId}/documents/{documentId}", name: "document", title: "Document", mime: typeMarkdown, tag: "search",
		target: "/api/agents/{agentId}/documents/{documentId}", description: "A document of one of the agent's sources, with its text.", render: renderDocument,
	},
}

func (s *Server) addResources(server *sdk.Server) {
	for _, t := range templates {
		server.AddResourceTemplate(&sdk.ResourceTemplate{
			URITemplate: t.uri, Name: t.name, Title: t.title, Description: t.description, MIMEType: t.mime, Icons: icons(s.edge.BaseURL, t.tag),
		}, func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			text, mime, err := s.read(ctx, actorOf(r), r.Params.URI)
			if err != nil {
				return nil, s.resourceError(ctx, r.Params.URI, err)
			}
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: mime, Text: text}}}, nil
		})
	}
}

// read returns the text of a resource. What is not there, and what is somebody else's, is not found.
func (s *Server) read(ctx context.Context, who core.Actor, uri string) (content, mime string, err error) {
	t, target, ok := match(uri)
	if !ok {
		return "", "", core.NotFound("resource")
	}
	body, _, err := s.api.Invoke(ctx, who, httpapi.Call{Method: http.MethodGet, Target: target})
	if err != nil {
		return "", "", err
	}
	if t.render == nil {
		return string(body), t.mime, nil
	}
	content, err = t.render(body)
	return content, t.mime, err
}

// match finds the kind of a URI and the call that reads it.
func match(uri string) (template, string, bool) {
	given := strings.Split(uri, "/")
	for _, t := range templates {
		want := strings.Split(t.uri, "/")
		if len(want) != len(given) {
			continue
		}
		target, fits := t.target, true
		for i, part := range want {
			switch {
			case !strings.HasPrefix(part, "{"):
				fits = fits && part == given[i]
			case given[i] == "":
				fits = false
			default:
				id, err := url.PathUnescape(given[i])
				fits = fits && err == nil
				target = strings.ReplaceAll(target, part, url.PathEscape(id))
			}
		}
		if fits {
			return t, target, true
		}
	}
	return template{}, "", false
}

// resourceError is the answer to a resource that can't be read: the protocol's own for one that is not there, else the
// code and sentence of REST.
func (s *Server) resourceError(ctx context.Context, uri string, err error) error {
	e := core.AsError(err)
	switch e.Kind {
	case core.KindNotFound:
		return sdk.ResourceNotFoundError(uri)
	case core.KindInternal:
		s.edge.Log.ErrorContext(ctx, "resource not read", slog.Any("error", err))
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.Code + ": " + e.Detail}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Code + ": " + e.Detail}
}

// renderDocument writes a document for reading: what it is, then its text as it is.
func renderDocument(body []byte) (string, error) {
	var reply struct {
		Document struct {
			Title   string   `json:"title"`
			Authors []string `json:"authors"`
			Year    int      `json:"year"`
			Venue   string   `json:"venue"`
			URL     string   `json:"url"`
			DOI     string   `json:"doi"`
			Text    string   `json:"text"`
		} `json:"document"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return "", err
	}
	d := reply.Document
	var b strings.Builder
	b.WriteString("# " + strings.Join(strings.Fields(d.Title), " ") + "\n")
	line := func(name, value string) {
		if value != "" {
			b.WriteString("\n" + name + ": " + value + "  ")
		}
	}
	line("Authors", strings.Join(d.Authors, ", "))
	if d.Year > 0 {
		line("Year", strconv.Itoa(d.Year))
	}
	line("Published in", d.Venue)
	line("DOI", d.DOI)
	line("Address", d.URL)
	b.WriteString("\n\n" + d.Text + "\n")
	return b.String(), nil
}

// listed is what is read of agents to name them.
type listed struct {
	Agents     []listedAgent `json:"agents"`
	NextCursor string        `json:"nextCursor"`
}

type listedAgent struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Shared      bool   `json:"shared"`
	Owner       string `json:"owner"`
}

// shown are the name, title and description of an agent in a list. Those of a shared agent say whose it is, and are fenced.
func (a listedAgent) shown() (name, title, description string) {
	if !a.Shared {
		return a.Name, a.Name, a.Description
	}
	name, by := fenced(a.Name), "Shared by "+fenced(a.Owner)
	return name, by + ": " + name, strings.TrimSpace(by + ". " + fenceNotice + " " + fenced(a.Description))
}

// agents reads a page of agents.
func (s *Server) agents(ctx context.Context, who core.Actor, query url.Values) (page listed, err error) {
	body, _, err := s.api.Invoke(ctx, who, httpapi.Call{Method: http.MethodGet, Target: "/api/agents?" + query.Encode()})
	if err != nil {
		return listed{}, err
	}
	return page, json.Unmarshal(body, &page)
}

// listResources lists what can be named: the agents and their memories. Documents and conversations are too many; they
// have templates, and links in replies.
func (s *Server) listResources(ctx context.Context, r *sdk.ListResourcesRequest, next sdk.MethodHandler) (sdk.Result, error) {
	query := url.Values{}
	if r.Params != nil && r.Params.Cursor != "" {
		query.Set("cursor", r.Params.Cursor)
		r.Params.Cursor = "" // it is ours, and the SDK has others
	}
	result, err := next(ctx, "resources/list", r)
	list, ok := result.(*sdk.ListResourcesResult)
	if err != nil || !ok {
		return result, err
	}
	who := actorOf(r)
	if core.IsKind(who.Allow(core.OpListAgents), core.KindForbidden) {
		return list, nil
	}
	page, err := s.agents(ctx, who, query)
	if err != nil {
		return nil, s.resourceError(ctx, scheme+"agents", err)
	}
	list.NextCursor, list.Resources = page.NextCursor, []*sdk.Resource{}
	for _, a := range page.Agents {
		name, title, description := a.shown()
		list.Resources = append(list.Resources,
			&sdk.Resource{
				URI: scheme + "agents/" + a.ID, Name: a.ID, Title: title, Description: description,
				MIMEType: typeJSON, Icons: icons(s.edge.BaseURL, "agents"),
			},
			&sdk.Resource{
				URI: scheme + "agents/" + a.ID + "/memories", Name: a.ID + " memories", Title: title + ": memories",
				Description: "What " + name + " remembers, newest first.", MIMEType: typeJSON, Icons: icons(s.edge.BaseURL, "memories"),
			})
	}
	return list, nil
}
