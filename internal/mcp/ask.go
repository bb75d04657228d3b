package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
	"carrel/internal/task"
)

// describeAsk makes the tool of the operation that sends a message: it begins a conversation where none is named, and
// its reply says where the conversation is.
func (t *tool) describeAsk() {
	properties := maps.Clone(t.operation.properties)
	properties["threadId"] = map[string]any{
		"type": "string", "description": "The conversation to go on with. Left out, a new one is begun, and the reply says which.",
	}
	t.sdk.InputSchema = marshal(map[string]any{"type": "object", "properties": properties, "required": []string{"agentId", "text"}})
	reply := maps.Clone(object(t.operation.output["properties"]))
	reply["status"] = map[string]any{
		"type": "string", "enum": []string{"complete", "working"},
		"description": "complete: the reply is here. working: it is not there yet; read it later with get_messages, and do not ask again.",
	}
	reply["agentId"] = map[string]any{"type": "string", "description": "The agent that was asked."}
	reply["threadId"] = map[string]any{"type": "string", "description": "The conversation, to go on with."}
	t.sdk.OutputSchema = marshal(map[string]any{
		"type": "object", "properties": reply, "required": []string{"status", "agentId", "threadId", "turnId"},
	})
	t.sdk.Description = "Ask an agent something and get its reply, with citations of the documents that it rests on.\n\n" +
		"The agent searches its sources, reads and answers, which may take a while; progress is reported meanwhile. A reply that takes longer than the wait " +
		"is worked on all the same: the result then says status working, and get_messages has the reply when it is there. Do not send the message again."
}

// turn is where a question went.
type turn struct {
	AgentID  string `json:"agentId"`
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

// messagesPath is the path of a conversation.
func messagesPath(agentID, threadID string) string {
	return "/api/agents/" + url.PathEscape(agentID) + "/threads/" + url.PathEscape(threadID) + "/messages"
}

// ask carries the tool out: it sends the message, tells of progress until the reply is there or the wait is over, and
// returns the reply, or where it will be.
func (s *Server) ask(ctx context.Context, r *sdk.CallToolRequest) *sdk.CallToolResult {
	who := actorOf(r)
	asked, after, err := s.send(ctx, who, r.Params.Arguments)
	if err == nil {
		err = s.follow(ctx, who, asked, after, progressTo(ctx, r))
	}
	if err != nil {
		return s.failed(ctx, err)
	}
	return s.answer(ctx, who, asked)
}

// send puts the message into its thread, which is made where none is named. It returns where the turn is and from where
// on its events are to be read.
func (s *Server) send(ctx context.Context, who core.Actor, arguments json.RawMessage) (turn, task.Position, error) {
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(arguments, &given); err != nil {
		return turn{}, task.Position{}, core.InvalidField("/arguments", "Must be a JSON object.")
	}
	for _, name := range []string{"threadId", "research"} {
		if string(given[name]) == "null" {
			delete(given, name)
		}
	}
	var asked turn
	if json.Unmarshal(given["agentId"], &asked.AgentID) != nil || asked.AgentID == "" {
		return turn{}, task.Position{}, core.InvalidField("/agentId", "Is required: the id of an agent, from list_agents.")
	}
	if given["threadId"] != nil && json.Unmarshal(given["threadId"], &asked.ThreadID) != nil {
		return turn{}, task.Position{}, core.InvalidField("/threadId", "Must be a text: the id of a thread of this agent.")
	}
	message := pick(given, []string{"text", "research"})
	if asked.ThreadID == "" {
		if err := s.begin(ctx, who, &asked, given["text"], string(given["research"]) == "true"); err != nil {
			return turn{}, task.Position{}, err
		}
	}
	after, err := s.threads.Position(ctx, asked.ThreadID)
	if err != nil {
		return turn{}, task.Position{}, err
	}
	body, _, err := s.api.Invoke(ctx, who, httpapi.Call{
		Method: http.MethodPost, Target: messagesPath(asked.AgentID, asked.ThreadID), Body: message, Async: true,
	})
	if err != nil {
		return turn{}, task.Position{}, err
	}
	return asked, after, json.Unmarshal(body, &asked)
}

// begin makes the thread of a question. One that is none, or would be refused, makes no thread.
func (s *Server) begin(ctx context.Context, who core.Actor, asked *turn, text json.RawMessage, research bool) error {
	var question string
	if json.Unmarshal(text, &question) != nil || strings.TrimSpace(question) == "" {
		return core.InvalidField("/text", "Is required: what to ask.")
	}
	if err := s.threads.AllowSend(ctx, who, asked.AgentID, research); err != nil {
		return err
	}
	body, _, err := s.api.Invoke(ctx, who, httpapi.Call{
		Method: http.MethodPost, Target: "/api/agents/" + url.PathEscape(asked.AgentID) + "/threads", Body: []byte("{}"),
	})
	if err != nil {
		return err
	}
	var made struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	err = json.Unmarshal(body, &made)
	asked.ThreadID = made.Thread.ID
	return err
}

// follow tells of a turn's steps until it is done, the wait is over or the server stops.
func (s *Server) follow(ctx context.Context, who core.Actor, asked turn, after task.Position, progress func(label string)) error {
	waiting, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	stop := context.AfterFunc(s.stopping, cancel) //nolint:contextcheck // it ends with the server, not with this call
	defer stop()
	events, err := s.threads.Events(waiting, who, asked.AgentID, asked.ThreadID, &after)
	if err != nil {
		return err
	}
	for e, err := range events {
		switch {
		case err != nil && waiting.Err() != nil:
			return ctx.Err() // the wait is over, which is no error unless whoever asked has gone
		case err != nil:
			return err
		case e.TaskID != asked.TurnID:
			continue
		case e.Kind == task.EventDone:
			return nil
		case e.Kind == task.EventStep:
			var step struct{ Label, State string }
			if json.Unmarshal(e.Payload, &step) == nil && step.State == "started" {
				progress(step.Label)
			}
		}
	}
	return ctx.Err()
}

// progressTo returns what tells a client that asked for it of progress. It only ever grows, as it must.
func progressTo(ctx context.Context, r *sdk.CallToolRequest) func(string) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func(string) {}
	}
	steps := 0.0
	return func(label string) {
		steps++
		// A client that is gone is noticed by the wait.
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: steps, Message: label})
	}
}

// answer is the result for a turn as it is now.
func (s *Server) answer(ctx context.Context, who core.Actor, asked turn) *sdk.CallToolResult {
	_, m, err := s.exchange(ctx, who, asked)
	switch {
	case err != nil:
		return s.failed(ctx, err)
	case m == nil:
		return working(asked)
	}
	return s.outcome(ctx, asked, m)
}

// outcome is the result for a turn that has ended, well or not.
func (s *Server) outcome(ctx context.Context, asked turn, m *replied) *sdk.CallToolResult {
	if m.Error == nil {
		return m.result(asked)
	}
	result := s.failed(ctx, &core.Error{Kind: core.KindUpstream, Code: m.Error.Code, Detail: m.Error.Detail})
	if m.Text != "" {
		result.Content = append(result.Content, &sdk.TextContent{Text: "What there was until then:\n\n" + m.Text})
	}
	return result
}

// working is the result of a turn that is not done.
func working(asked turn) *sdk.CallToolResult {
	return &sdk.CallToolResult{
		Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(
			"The agent is still working on it. Do not ask again: read the reply later with get_messages, agentId %s, threadId %s.",
			asked.AgentID, asked.ThreadID)}},
		StructuredContent: struct {
			Status string `json:"status"`
			turn
		}{"working", asked},
	}
}

// replied is the reply of a turn as the contract has it.
type replied struct {
	ID        string `json:"id"`
	Role      string `json:"role"`
	TurnID    string `json:"turnId"`
	Text      string `json:"text"`
	Status    string `json:"status"`
	CreatedAt string `json:"createdAt"`
	Citations []struct {
		N          int      `json:"n"`
		DocumentID string   `json:"documentId"`
		Title      string   `json:"title"`
		Authors    []string `json:"authors"`
		Year       int      `json:"year"`
		URL        string   `json:"url"`
		Quote      string   `json:"quote"`
	} `json:"citations"`
	Error *struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	} `json:"error"`
	fields map[string]json.RawMessage
}

// errNoTurn means that a conversation does not have a turn, or not any more.
var errNoTurn = core.NotFound("turn")

// exchange returns the question of a turn and its reply, which is nil while the turn works. It reads the conversation
// backwards: the turn is most likely the last.
func (s *Server) exchange(ctx context.Context, who core.Actor, asked turn) (question, reply *replied, err error) {
	path := messagesPath(asked.AgentID, asked.ThreadID)
	for target := path; ; {
		body, _, err := s.api.Invoke(ctx, who, httpapi.Call{Method: http.MethodGet, Target: target})
		if err != nil {
			return nil, nil, err
		}
		var page struct {
			Messages   []json.RawMessage `json:"messages"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, nil, err
		}
		for _, raw := range slices.Backward(page.Messages) {
			var m replied
			if err := errors.Join(json.Unmarshal(raw, &m), json.Unmarshal(raw, &m.fields)); err != nil {
				return nil, nil, err
			}
			switch {
			case m.TurnID != asked.TurnID:
			case m.Role == "assistant":
				reply = &m
			default:
				return &m, reply, nil
			}
		}
		if page.NextCursor == "" {
			return nil, nil, errNoTurn
		}
		target = path + "?cursor=" + url.QueryEscape(page.NextCursor)
	}
}

// result is the reply as a tool's result: its text with what it cites, and the documents as links.
func (m *replied) result(asked turn) *sdk.CallToolResult {
	structured := map[string]any{
		"status": "complete", "text": m.Text, "messageId": m.ID,
		"agentId": asked.AgentID, "threadId": asked.ThreadID, "turnId": asked.TurnID,
	}
	for _, name := range []string{"partial", "citations", "checks", "followUps", "query", "memoriesUsed", "usage"} {
		if value, ok := m.fields[name]; ok {
			structured[name] = value
		}
	}
	text := m.Text
	var links []sdk.Content
	linked := map[string]bool{}
	for i, c := range m.Citations {
		if i == 0 {
			text += "\n\nSources:"
		}
		text += "\n[" + strconv.Itoa(c.N) + "] " + citation(c.Title, c.Authors, c.Year, c.URL)
		if !linked[c.DocumentID] {
			linked[c.DocumentID] = true
			links = append(links, &sdk.ResourceLink{
				URI: documentURI(asked.AgentID, c.DocumentID), Name: c.DocumentID, Title: c.Title, MIMEType: "text/markdown",
				Description: "Cited as [" + strconv.Itoa(c.N) + "]: " + c.Quote,
			})
		}
	}
	return &sdk.CallToolResult{
		Content: append([]sdk.Content{&sdk.TextContent{Text: text}}, links...), StructuredContent: structured,
	}
}

// citation names a document in a line.
func citation(title string, authors []string, year int, address string) string {
	parts := []string{title}
	if len(authors) > 0 {
		parts = append(parts, strings.Join(authors, ", "))
	}
	if year > 0 {
		parts = append(parts, strconv.Itoa(year))
	}
	if address != "" {
		parts = append(parts, address)
	}
	return strings.Join(parts, ". ")
}
