package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/client"
)

type mcpCommand struct{ connectFlags }

// Run forwards MCP messages between standard input and output and the server until the input ends.
//
// The messages pass unchanged. The transports of the SDK are not used, because its HTTP transport takes the version of
// the protocol from a client session of the SDK, which a bridge does not have.
func (c mcpCommand) Run(ctx context.Context, env *Env) error {
	return c.with(env, func(s *session) error {
		b := &bridge{api: s.Client, out: env.Out, log: env.Err}
		return b.run(ctx, env.In)
	})
}

const (
	mcpPath = "/mcp"
	// maxMessage limits the size of a message of the program.
	maxMessage = 16 << 20
	// listenPause is the pause before the stream of the server's own messages is opened again.
	listenPause = time.Second
	// codeServerError is the JSON-RPC code of errors that the server did not report as JSON-RPC.
	codeServerError = -32000
)

// bridge forwards messages. It keeps the session of the server.
type bridge struct {
	api *client.Client
	log io.Writer

	outMu sync.Mutex
	out   io.Writer

	mu sync.Mutex
	// session and version are set by the reply to initialize, which the bridge keeps to begin another session.
	session, version string
	initialize       []byte
}

// rpcMessage has the members of a JSON-RPC message that the bridge reads.
type rpcMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name   string                     `json:"name"`
		URI    string                     `json:"uri"`
		TaskID string                     `json:"taskId"`
		Meta   map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
	Result struct {
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"result"`
}

// run reads messages until the input ends, and then waits for the replies that are under way.
func (b *bridge) run(ctx context.Context, in io.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	var requests, listener sync.WaitGroup
	defer listener.Wait()
	defer stop()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxMessage)
	for lines.Scan() {
		line := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		if len(line) == 0 {
			continue
		}
		var m rpcMessage
		_ = json.Unmarshal(line, &m) // the server replies to a malformed message
		switch {
		case m.Method == "initialize":
			b.forward(ctx, line, m)
			b.mu.Lock()
			b.initialize = line
			b.mu.Unlock()
		case m.Method != "" && m.ID == nil:
			b.forward(ctx, line, m) // notifications keep their order
			if m.Method == "notifications/initialized" && b.currentSession() != "" {
				listener.Go(func() { b.listen(ctx) })
			}
		default:
			requests.Go(func() { b.forward(ctx, line, m) })
		}
	}
	requests.Wait()
	b.endSession(ctx)
	return lines.Err()
}

func (b *bridge) currentSession() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.session
}

// header returns the headers of a message: those of the session, or those that a stateless request needs.
func (b *bridge) header(m rpcMessage) http.Header {
	h := http.Header{"Accept": {"application/json, text/event-stream"}}
	if raw, ok := m.Params.Meta[mcp.MetaKeyProtocolVersion]; ok {
		var version string
		_ = json.Unmarshal(raw, &version) // the server reports a version that is no string
		h.Set("Mcp-Protocol-Version", version)
		h.Set("Mcp-Method", m.Method)
		if name := cmp.Or(m.Params.Name, m.Params.URI, m.Params.TaskID); name != "" {
			h.Set("Mcp-Name", headerText(name))
		}
		return h
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != "" && m.Method != "initialize" {
		h.Set("Mcp-Session-Id", b.session)
		h.Set("Mcp-Protocol-Version", b.version)
	}
	return h
}

// headerText encodes a name that is not plain ASCII as the protocol requires.
func headerText(text string) string {
	plain := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0
	if plain && text == strings.TrimSpace(text) {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// forward sends a message and writes the replies. A failure becomes the reply of a request.
func (b *bridge) forward(ctx context.Context, line []byte, m rpcMessage) {
	err := b.post(ctx, line, m)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusNotFound && b.renew(ctx) {
		err = b.post(ctx, line, m)
	}
	if err == nil {
		return
	}
	e, ok := errors.AsType[*client.Error](err)
	if ok && json.Valid(e.Body) && bytes.Contains(e.Body, []byte(`"jsonrpc"`)) {
		b.write(e.Body)
		return
	}
	message := err.Error()
	if hint := hintOf(err); hint != "" {
		message += " " + hint
	}
	if m.ID == nil {
		_, _ = fmt.Fprintf(b.log, "carrel: %s\n", message)
		return
	}
	reply, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": codeServerError, "message": message},
	})
	if err == nil {
		b.write(reply)
	}
}

// post sends a message and writes the replies.
func (b *bridge) post(ctx context.Context, line []byte, m rpcMessage) error {
	res, err := b.api.Do(ctx, http.MethodPost, mcpPath, b.header(m), "application/json", line)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	return b.copyReplies(res, m.Method == "initialize", b.write)
}

// copyReplies passes the messages of a reply to write. Those to initialize set the session.
func (b *bridge) copyReplies(res *http.Response, initialize bool, write func([]byte)) error {
	handle := func(message []byte) {
		if initialize {
			var m rpcMessage
			if json.Unmarshal(message, &m) == nil && m.Result.ProtocolVersion != "" {
				b.mu.Lock()
				b.session, b.version = res.Header.Get("Mcp-Session-Id"), m.Result.ProtocolVersion
				b.mu.Unlock()
			}
		}
		write(message)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return client.ReadEvents(res.Body, func(e client.ServerEvent) bool {
			handle([]byte(e.Data))
			return true
		})
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	if err == nil && len(bytes.TrimSpace(body)) > 0 {
		handle(body)
	}
	return err
}

// renew begins another session after the server has forgotten the first, for example after its restart. The program
// does not see it, because its reply to initialize is the same.
func (b *bridge) renew(ctx context.Context) bool {
	b.mu.Lock()
	line := b.initialize
	b.session = ""
	b.mu.Unlock()
	if line == nil {
		return false
	}
	var m rpcMessage
	if json.Unmarshal(line, &m) != nil {
		return false
	}
	res, err := b.api.Do(ctx, http.MethodPost, mcpPath, b.header(m), "application/json", line)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	if b.copyReplies(res, true, func([]byte) {}) != nil {
		return false
	}
	initialized := []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return b.post(ctx, initialized, rpcMessage{Method: "notifications/initialized"}) == nil
}

// listen writes the messages that the server sends on its own, such as changed lists, until the context ends.
func (b *bridge) listen(ctx context.Context) {
	last := ""
	for ctx.Err() == nil {
		h := b.header(rpcMessage{})
		h.Set("Accept", "text/event-stream")
		if last != "" {
			h.Set("Last-Event-ID", last)
		}
		res, err := b.api.Do(ctx, http.MethodGet, mcpPath, h, "", nil)
		if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusMethodNotAllowed {
			return // the server has no such stream
		}
		if err == nil {
			_ = client.ReadEvents(res.Body, func(e client.ServerEvent) bool {
				last = cmp.Or(e.ID, last)
				b.write([]byte(e.Data))
				return true
			}) // an interrupted stream is opened again
			_ = res.Body.Close()
		}
		if wait(ctx, listenPause) != nil {
			return
		}
	}
}

// endSession tells the server that the program has ended.
func (b *bridge) endSession(ctx context.Context) {
	if b.currentSession() == "" {
		return
	}
	res, err := b.api.Do(ctx, http.MethodDelete, mcpPath, b.header(rpcMessage{}), "", nil)
	if err == nil {
		_ = res.Body.Close()
	} // otherwise the session expires by itself
}

// write writes a message as one line.
func (b *bridge) write(message []byte) {
	b.outMu.Lock()
	defer b.outMu.Unlock()
	var line bytes.Buffer
	if json.Compact(&line, message) != nil {
		return // no JSON, so no message
	}
	_, _ = b.out.Write(append(line.Bytes(), '\n')) // a closed output ends the program by its input
}
