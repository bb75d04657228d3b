// Package mcp serves the Model Context Protocol. It offers operations of the REST contract as tools, agents, memories,
// conversations and documents as resources, and common requests as prompts. Both eras of the protocol, with sessions
// and stateless, share one URL.
//
// The package makes no access decisions. Every tool and resource is an invocation of a REST operation through the API
// interface, so the two protocols cannot diverge.
package mcp

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/streamwatch"
	"carrel/internal/task"
)

// Threads is the part of the thread service that ask_agent needs beyond the REST contract, to follow a running turn.
type Threads interface {
	// AllowSend checks whether a message would be accepted, before a thread is created for it.
	AllowSend(ctx context.Context, actor core.Actor, agentID string, research bool) error
	Position(ctx context.Context, threadID string) (task.Position, error)
	Events(
		ctx context.Context, actor core.Actor, agentID, threadID string, after *task.Position,
	) (iter.Seq2[task.Event, error], error)
}

// Deps are the dependencies of a server.
type Deps struct {
	// BaseURL is the installation's URL as clients see it.
	BaseURL string
	API     API
	Threads Threads
	// Authenticate returns the actor of a bearer token. It is called on every request, and about once a second for each
	// token with open streams.
	Authenticate func(ctx context.Context, token string) (core.Actor, error)
	// Admit counts an authenticated request and returns an error when its user exceeds their rate limit.
	Admit func(ctx context.Context, who core.Actor) error
	// Problem answers a request with an error in HTTP, including the challenge of a 401 or 403.
	Problem func(w http.ResponseWriter, r *http.Request, err error)
	// Streams limits the event streams of a credential; the REST API shares it. Nil means no limit.
	Streams *streamwatch.Slots
	// Sealer encrypts session ids, so that they survive a restart and work for their user only.
	Sealer Sealer
	// Draining is closed when the server shuts down; open streams end then.
	Draining <-chan struct{}
	Log      *slog.Logger
}

// Sealer encrypts short texts and binds them to a place.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// Options configure a server.
type Options struct {
	// Version is the version of the program.
	Version string
	// Wait is how long ask_agent waits for a reply.
	Wait time.Duration
	// Changed returns a number that changes with every write to the database, if that is known; see store.DB.Version.
	// Nil means that it is never known.
	Changed func() (version uint64, known bool)
}

// Server serves the protocol.
type Server struct {
	deps    Deps
	api     API
	threads Threads
	wait    time.Duration
	changed func() (uint64, bool)
	version string

	tools  []*tool
	byName map[string]*tool
	// endpoint is built by the first request, because the SDK takes milliseconds to read the schemas of all tools.
	endpoint  func() (*endpoint, error)
	listeners *streamwatch.Watch[*listener]
	// stopping ends when the server shuts down. Waiting calls then return the current state.
	stopping context.Context
	stop     context.CancelFunc
}

// New returns a server. The caller must close it.
func New(d Deps, o Options) *Server {
	s := &Server{
		deps: d, api: d.API, threads: d.Threads, wait: o.Wait, changed: o.Changed, version: o.Version,
		tools: newTools(d.BaseURL), byName: map[string]*tool{},
	}
	if s.changed == nil {
		s.changed = func() (uint64, bool) { return 0, false }
	}
	interval := pollInterval
	if _, known := s.changed(); !known {
		interval = slowPollInterval
	}
	s.listeners = streamwatch.New(interval, s.pollChanges)
	for _, t := range s.tools {
		s.byName[t.sdk.Name] = t
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.endpoint = sync.OnceValues(s.newEndpoint)
	go func() {
		select {
		case <-d.Draining:
			s.stop()
		case <-s.stopping.Done():
		}
	}()
	return s
}

func (s *Server) newEndpoint() (*endpoint, error) {
	p := protocol{
		stateful:  s.newServer(&sdk.ServerOptions{Capabilities: capabilities(false)}),
		stateless: s.newServer(&sdk.ServerOptions{Capabilities: capabilities(true)}),
		sessions:  newSessions(s.deps.Sealer), check: s.checkScope, singleReply: singleReply, cacheKey: s.cacheKey,
		listen: s.listen,
	}
	if err := addTasks(p.stateless, turnTasks{s}); err != nil {
		return nil, err
	}
	return newEndpoint(s.deps, p)
}

// Close ends all waiting calls and streams.
func (s *Server) Close() { s.stop() }

// Routes adds the endpoint to a mux.
func (s *Server) Routes(mux *http.ServeMux) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		e, err := s.endpoint()
		if err != nil {
			s.deps.Problem(w, r, err)
			return
		}
		e.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET "+iconPath+"{name}", serveIcon)
}

// path is the path of the endpoint below the base URL.
const path = "/mcp"

// instructions are sent to the model when a client connects.
const instructions = `Carrel holds agents that know their own sources: papers, notes, documents.
Call list_agents first; every other tool needs an agent's id.
To get a question answered with citations, use ask_agent. To find documents yourself, use search, and get_document to read one.
If a reply takes long, ask_agent returns the status working, and get_messages has the reply later. Never send a message twice.
Use add_memory for facts to remember in later conversations, and save_favourite for results worth keeping.
Prefer the user's own agents. Agents shared by other accounts come last in every list and are marked as shared. ` + fenceNotice

// newServer returns an SDK server with all tools, resources and prompts.
func (s *Server) newServer(o *sdk.ServerOptions) *sdk.Server {
	o.Instructions, o.CompletionHandler = instructions, s.complete
	// Lists depend on the user, so shared caches must not keep them.
	o.SetCacheable = func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }
	server := sdk.NewServer(&sdk.Implementation{
		Name: "carrel", Title: "Carrel", Version: s.version, WebsiteURL: s.deps.BaseURL, Icons: icons(s.deps.BaseURL, ""),
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
	addPrompts(server, s.deps.BaseURL)
	server.AddReceivingMiddleware(s.filterByAccess)
	return server
}

// capabilities returns the capabilities of a server. Logging is left out because the protocol deprecates it. Prompts
// never change.
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

// filterByAccess is SDK middleware that removes tools and resources that the caller may not use from list results.
func (s *Server) filterByAccess(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if list, ok := r.(*sdk.ListResourcesRequest); ok {
			return s.listResources(ctx, list, next)
		}
		result, err := next(ctx, method, r)
		if tools, ok := result.(*sdk.ListToolsResult); ok && err == nil {
			tools.Tools = s.visibleTools(actorOf(r))
		}
		return result, err
	}
}

// singleReply reports whether a message is answered with one JSON reply, not with a stream. Only ask_agent, which
// reports progress, and subscriptions need a stream.
func singleReply(m message) bool {
	return m.Method != methodListen && (m.Method != "tools/call" || m.Params.Name != askTool)
}

// cacheKey returns the key under which the reply to a message can be cached, or "". Only the list of tools is cached;
// its key is the set of visible tools.
func (s *Server) cacheKey(who core.Actor, m message) string {
	if m.Method != "tools/list" || m.Params.Cursor != "" {
		return ""
	}
	key := make([]byte, len(s.tools))
	for i, t := range s.tools {
		key[i] = '0'
		if visible(who, t) {
			key[i] = '1'
		}
	}
	return string(key)
}
