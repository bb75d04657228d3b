// Package mcp is the endpoint for the Model Context Protocol: it offers the operations of the REST contract as tools, what
// an account holds as resources, and ways to ask as prompts, to both eras of the protocol at one address.
//
// It decides nothing. Every tool is a call of the REST API from inside, so that the two can't drift apart.
package mcp

import (
	"context"
	"iter"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/api"
	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/streamwatch"
)

// Threads is what is needed of conversations beyond the REST contract: to wait for a turn while it works.
type Threads interface {
	// AllowSend is asked before a thread is made for a message, which would stay behind when the message is refused.
	AllowSend(ctx context.Context, actor core.Actor, agentID string, research bool) error
	Position(ctx context.Context, threadID string) (task.Position, error)
	Events(ctx context.Context, actor core.Actor, agentID, threadID string, after *task.Position) (iter.Seq2[task.Event, error], error)
}

// Options is how the endpoint behaves.
type Options struct {
	// Version is the program's.
	Version string
	// Wait is how long ask_agent waits for a reply.
	Wait time.Duration
	// Changed names the present state of the database, where that is known; see store.DB.Version. Nil means never.
	Changed func() (version uint64, known bool)
}

// Server serves the protocol.
type Server struct {
	edge    Edge
	api     API
	threads Threads
	wait    time.Duration
	changed func() (uint64, bool)
	version string

	tools    []*tool
	byName   map[string]*tool
	endpoint *endpoint
	// listeners are those who wait for news.
	listeners *streamwatch.Watch[*listener]
	// stopping ends when the server does: whoever waits then answers with what there is.
	stopping context.Context
	stop     context.CancelFunc
}

// New returns a server. It must be closed.
func New(e Edge, a API, threads Threads, o Options) (*Server, error) {
	contract, err := readContract(api.Document)
	if err != nil {
		return nil, err
	}
	s := &Server{edge: e, api: a, threads: threads, wait: o.Wait, changed: o.Changed, version: o.Version, byName: map[string]*tool{}}
	if s.changed == nil {
		s.changed = func() (uint64, bool) { return 0, false }
	}
	every := lookEvery
	if _, known := s.changed(); !known {
		every = lookSlowly
	}
	s.listeners = streamwatch.New(every, s.look)
	if s.tools, err = newTools(contract, e.BaseURL); err != nil {
		return nil, err
	}
	for _, t := range s.tools {
		s.byName[t.sdk.Name] = t
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	p := protocol{
		stateful:  s.newServer(&sdk.ServerOptions{Capabilities: capabilities(false)}),
		stateless: s.newServer(&sdk.ServerOptions{Capabilities: capabilities(true)}),
		sessions:  newSessions(e.Sealer), check: s.check, quick: quick, cached: s.cached, listen: s.listen,
	}
	if err := addTasks(p.stateless, turnTasks{s}); err != nil {
		s.stop()
		return nil, err
	}
	if s.endpoint, err = newEndpoint(e, p); err != nil {
		s.stop()
		return nil, err
	}
	go func() {
		select {
		case <-e.Draining:
			s.stop()
		case <-s.stopping.Done():
		}
	}()
	return s, nil
}

// Close ends what the server still does.
func (s *Server) Close() { s.stop() }

// Routes adds the endpoint to a mux.
func (s *Server) Routes(mux *http.ServeMux) {
	mux.Handle(path, s.endpoint)
	mux.HandleFunc("GET "+iconPath+"{name}", serveIcon)
}

// path is where the endpoint lies below the base address.
const path = "/mcp"

// instructions tell a model what this is and how to begin.
const instructions = `Carrel holds agents that know their own sources: papers, notes, documents.
Call list_agents first; every other tool needs an agent's id.
To have a question answered with citations use ask_agent. To look for documents yourself use search, and get_document to read one.
A reply that takes long is not lost: ask_agent says so, and get_messages has it later. Never send a message twice.
What should be remembered for later conversations goes into add_memory; a result worth keeping into save_favourite.
Prefer the user's own agents. Those that other accounts share come last in every list and are marked as shared. ` + fenceNotice

// newServer returns a server of the SDK with everything on it.
func (s *Server) newServer(o *sdk.ServerOptions) *sdk.Server {
	o.Instructions, o.CompletionHandler = instructions, s.complete
	// What is listed is the user's own, and so is what it is cached for.
	o.SetCacheable = func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }
	server := sdk.NewServer(&sdk.Implementation{
		Name: "carrel", Title: "Carrel", Version: s.version, WebsiteURL: s.edge.BaseURL, Icons: icons(s.edge.BaseURL, ""),
	}, o)
	for _, t := range s.tools {
		server.AddTool(t.sdk, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if t.sdk.Name == askTool {
				return s.ask(ctx, r), nil
			}
			return s.call(ctx, t, actorOf(r), r.Params.Arguments), nil
		})
	}
	s.addResources(server)
	addPrompts(server, s.edge.BaseURL)
	server.AddReceivingMiddleware(s.personal)
	return server
}

// capabilities are what a server promises. Logging is not among them: it is on its way out. Prompts never change.
func capabilities(stateless bool) *sdk.ServerCapabilities {
	c := &sdk.ServerCapabilities{
		Tools: &sdk.ToolCapabilities{ListChanged: true}, Prompts: &sdk.PromptCapabilities{},
		Resources: &sdk.ResourceCapabilities{ListChanged: true, Subscribe: stateless},
	}
	if stateless {
		c.AddExtension(tasksExtension, nil)
	}
	return c
}

// personal has every list hold what its reader may use.
func (s *Server) personal(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if list, ok := r.(*sdk.ListResourcesRequest); ok {
			return s.listResources(ctx, list, next)
		}
		result, err := next(ctx, method, r)
		if tools, ok := result.(*sdk.ListToolsResult); ok && err == nil {
			tools.Tools = s.shown(actorOf(r))
		}
		return result, err
	}
}

// quick reports whether a message is answered at once. Progress is reported by ask_agent alone.
func quick(m message) bool {
	return m.Method != methodListen && (m.Method != "tools/call" || m.Params.Name != askTool)
}

// cached names the list of tools by those that are shown.
func (s *Server) cached(who core.Actor, m message) string {
	if m.Method != "tools/list" || m.Params.Cursor != "" {
		return ""
	}
	names := make([]byte, len(s.tools))
	for i, t := range s.tools {
		names[i] = '0'
		if s.shows(who, t) {
			names[i] = '1'
		}
	}
	return string(names)
}
