package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
	"carrel/internal/httpapi/oas"
)

// scheme is the start of every resource URI. The path of the REST API below /api follows.
const scheme = "carrel://"

const (
	typeJSON     = "application/json"
	typeMarkdown = "text/markdown"
)

func documentURI(agentID, documentID string) string {
	return scheme + "agents/" + agentID + "/documents/" + documentID
}

// template is a kind of resource, which is read by invoking an operation with the parameters of the URI.
type template struct {
	uri, name, title, description, mime, tag string
	operation                                core.Operation
	// arguments are added to the parameters of the URI.
	arguments httpapi.Arguments
	// render returns the text of the reply; nil means the reply as JSON, or the content of a file.
	render func(reply any) (string, error)
}

var templates = []template{
	{
		uri: scheme + "agents/{agentId}", name: "agent", title: "Agent", mime: typeJSON, tag: "agents",
		operation: core.OpGetAgent, render: renderAgent,
		description: "An agent: its instructions, its sources, and the caller's capabilities.",
	},
	{
		uri: scheme + "agents/{agentId}/memories", name: "memories", title: "Memories", mime: typeJSON, tag: "memories",
		operation: core.OpListMemories, arguments: httpapi.Arguments{"limit": marshal(200)},
		description: "The agent's memories, newest first.",
	},
	{
		uri: scheme + "agents/{agentId}/threads/{threadId}", name: "thread", title: "Conversation", mime: typeMarkdown,
		tag:       "threads",
		operation: core.OpExportThread, arguments: httpapi.Arguments{"format": marshal("markdown")},
		description: "A conversation with its citations, as Markdown.",
	},
	{
		uri: scheme + "agents/{agentId}/documents/{documentId}", name: "document", title: "Document", mime: typeMarkdown,
		tag:       "search",
		operation: core.OpGetDocument, render: renderDocument,
		description: "A document of one of the agent's sources, with its text.",
	},
}

func (s *Server) addResources(server *sdk.Server) {
	for _, t := range templates {
		server.AddResourceTemplate(&sdk.ResourceTemplate{
			URITemplate: t.uri, Name: t.name, Title: t.title, Description: t.description, MIMEType: t.mime,
			Icons: icons(s.deps.BaseURL, t.tag),
		}, func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			text, mime, err := s.read(ctx, actorOf(r), r.Params.URI)
			if err != nil {
				return nil, s.resourceError(ctx, r.Params.URI, err)
			}
			return &sdk.ReadResourceResult{
				Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: mime, Text: text}},
			}, nil
		})
	}
}

// read returns the text of a resource. A resource that the caller may not see is not found.
func (s *Server) read(ctx context.Context, who core.Actor, uri string) (content, mime string, err error) {
	t, args, ok := match(uri)
	if !ok {
		return "", "", core.NotFound("resource")
	}
	reply, err := s.api.Invoke(ctx, who, t.operation, args)
	if err != nil {
		return "", "", err
	}
	render := t.render
	if render == nil {
		render = renderPlain
	}
	content, err = render(reply)
	return content, t.mime, err
}

// match returns the template of a URI and the arguments that it gives to the template's operation.
func match(uri string) (template, httpapi.Arguments, bool) {
	given := strings.Split(uri, "/")
	for _, t := range templates {
		want := strings.Split(t.uri, "/")
		if len(want) != len(given) {
			continue
		}
		args, fits := maps.Clone(t.arguments), true
		if args == nil {
			args = httpapi.Arguments{}
		}
		for i, part := range want {
			switch {
			case !strings.HasPrefix(part, "{"):
				fits = fits && part == given[i]
			case given[i] == "":
				fits = false
			default:
				id, err := url.PathUnescape(given[i])
				fits = fits && err == nil
				args[strings.Trim(part, "{}")] = marshal(id)
			}
		}
		if fits {
			return t, args, true
		}
	}
	return template{}, nil, false
}

// resourceError returns the protocol's error for a resource that was not found, and the code and detail of REST for any
// other error.
func (s *Server) resourceError(ctx context.Context, uri string, err error) error {
	e := core.AsError(err)
	switch e.Kind {
	case core.KindNotFound:
		return sdk.ResourceNotFoundError(uri)
	case core.KindInternal:
		s.deps.Log.ErrorContext(ctx, "resource not read", slog.Any("error", err))
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.Code + ": " + e.Detail}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Code + ": " + e.Detail}
}

// renderPlain returns the content of a file, or any other reply as JSON.
func renderPlain(reply any) (string, error) {
	if f, ok := reply.(*httpapi.File); ok {
		return string(f.Content), nil
	}
	body, err := httpapi.EncodeReply(reply)
	return string(body), err
}

func renderAgent(reply any) (string, error) {
	body, err := httpapi.EncodeReply(reply)
	return string(fenceJSON(body, false)), err
}

// renderDocument formats a document as Markdown: its bibliographic data, then its text unchanged.
func renderDocument(reply any) (string, error) {
	found, ok := reply.(*oas.DocumentReply)
	if !ok {
		return "", core.Internal(fmt.Errorf("a document is a %T", reply))
	}
	d := found.Document
	var b strings.Builder
	b.WriteString("# " + strings.Join(strings.Fields(d.Title), " ") + "\n")
	line := func(name, value string) {
		if value != "" {
			b.WriteString("\n" + name + ": " + value + "  ")
		}
	}
	line("Authors", strings.Join(d.Authors, ", "))
	if year := d.Year.Value; year > 0 {
		line("Year", strconv.Itoa(year))
	}
	line("Published in", d.Venue.Value)
	line("Language", d.Language.Value)
	line("DOI", d.Doi.Value)
	line("Address", d.URL.Value)
	b.WriteString("\n\n" + d.Text + "\n")
	return b.String(), nil
}

// describeAgent returns the name, title and description of an agent in the list of resources. Those of a shared agent
// name its owner, and texts of the owner are fenced.
func describeAgent(a oas.Agent) (name, title, description string) {
	if !a.Shared {
		return a.Name, a.Name, a.Description
	}
	name, by := fenced(a.Name), "Shared by "+fenced(a.Owner.Value)
	return name, by + ": " + name, strings.TrimSpace(by + ". " + fenceNotice + " " + fenced(a.Description))
}

// agents returns a page of the caller's agents and the cursor of the next one.
func (s *Server) agents(ctx context.Context, who core.Actor, args httpapi.Arguments) ([]oas.Agent, string, error) {
	page, err := invoke[*oas.AgentList](ctx, s.api, who, core.OpListAgents, args)
	if err != nil {
		return nil, "", err
	}
	return page.Agents, page.NextCursor.Value, nil
}

// listResources lists the agents and their memories. Documents and conversations are too many to list; clients find
// them through templates and through links in replies.
func (s *Server) listResources(
	ctx context.Context, r *sdk.ListResourcesRequest, next sdk.MethodHandler,
) (sdk.Result, error) {
	args := httpapi.Arguments{}
	if r.Params != nil && r.Params.Cursor != "" {
		args["cursor"] = marshal(r.Params.Cursor)
		r.Params.Cursor = "" // it is a cursor of list_agents, which the SDK would refuse
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
	agents, cursor, err := s.agents(ctx, who, args)
	if err != nil {
		return nil, s.resourceError(ctx, scheme+"agents", err)
	}
	list.NextCursor, list.Resources = cursor, []*sdk.Resource{}
	for _, a := range agents {
		name, title, description := describeAgent(a)
		list.Resources = append(list.Resources,
			&sdk.Resource{
				URI: scheme + "agents/" + a.ID, Name: a.ID, Title: title, Description: description,
				MIMEType: typeJSON, Icons: icons(s.deps.BaseURL, "agents"),
			},
			&sdk.Resource{
				URI: scheme + "agents/" + a.ID + "/memories", Name: a.ID + " memories", Title: title + ": memories",
				Description: "Memories of " + name + ", newest first.", MIMEType: typeJSON,
				Icons: icons(s.deps.BaseURL, "memories"),
			})
	}
	return list, nil
}
