package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
	"carrel/internal/httpapi/oas"
	"carrel/internal/task"
)

// turn identifies the turn that answers a message.
type turn struct {
	AgentID  string `json:"agentId"`
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

func (t turn) thread() httpapi.Arguments {
	return httpapi.Arguments{"agentId": marshal(t.AgentID), "threadId": marshal(t.ThreadID)}
}

// ask carries out ask_agent: it sends the message, reports progress until the turn ends or the wait is over, and
// returns the reply, or the turn that is still working on it.
func (s *Server) ask(ctx context.Context, r *sdk.CallToolRequest) *sdk.CallToolResult {
	who := actorOf(r)
	t, after, err := s.send(ctx, who, r.Params.Arguments)
	if err == nil {
		err = s.followTurn(ctx, who, t, after, progressNotifier(ctx, r))
	}
	if err != nil {
		return s.failed(ctx, err)
	}
	_, reply, err := s.exchange(ctx, who, t)
	switch {
	case err != nil:
		return s.failed(ctx, err)
	case reply == nil:
		return workingResult(t)
	}
	return s.turnResult(ctx, t, reply)
}

// send sends the message, in a new thread if none is given. It returns the turn, and the position in the thread's
// events before the turn's first one.
func (s *Server) send(ctx context.Context, who core.Actor, arguments json.RawMessage) (turn, task.Position, error) {
	args, err := httpapi.ParseArguments(arguments)
	if err != nil {
		return turn{}, task.Position{}, err
	}
	var t turn
	if json.Unmarshal(args["agentId"], &t.AgentID) != nil || t.AgentID == "" {
		return turn{}, task.Position{}, core.InvalidField("/agentId", "Is required: the id of an agent, from list_agents.")
	}
	if id := args["threadId"]; id != nil && json.Unmarshal(id, &t.ThreadID) != nil { // null leaves the id empty
		return turn{}, task.Position{}, core.InvalidField("/threadId", "Must be a text: the id of a thread of this agent.")
	}
	if t.ThreadID == "" {
		if t.ThreadID, err = s.createThread(ctx, who, t.AgentID, args); err != nil {
			return turn{}, task.Position{}, err
		}
	}
	after, err := s.threads.Position(ctx, t.ThreadID)
	if err != nil {
		return turn{}, task.Position{}, err
	}
	args["threadId"] = marshal(t.ThreadID)
	reply, err := s.api.Invoke(httpapi.WithoutWait(ctx), who, core.OpSendMessage, args)
	if err != nil {
		return turn{}, task.Position{}, err
	}
	switch reply := reply.(type) {
	case *oas.TurnWorkingHeaders:
		t.TurnID = reply.Response.TurnId
	case *oas.TurnComplete:
		t.TurnID = reply.TurnId
	}
	return t, after, nil
}

// createThread creates the thread of a new conversation. It checks the message first, so that a message that would be
// refused leaves no empty thread behind.
func (s *Server) createThread(
	ctx context.Context, who core.Actor, agentID string, args httpapi.Arguments,
) (string, error) {
	var text string
	if json.Unmarshal(args["text"], &text) != nil || strings.TrimSpace(text) == "" {
		return "", core.InvalidField("/text", "Is required: what to ask.")
	}
	if err := s.threads.AllowSend(ctx, who, agentID, string(args["research"]) == "true"); err != nil {
		return "", err
	}
	reply, err := invoke[*oas.ThreadReply](ctx, s.api, who, core.OpCreateThread,
		httpapi.Arguments{"agentId": marshal(agentID)})
	if err != nil {
		return "", err
	}
	return reply.Thread.ID, nil
}

// followTurn reports the place in the queue and the steps of a turn until it ends, the wait is over or the server shuts
// down.
func (s *Server) followTurn(
	ctx context.Context, who core.Actor, t turn, after task.Position, progress func(label string),
) error {
	waiting, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	stop := context.AfterFunc(s.stopping, cancel) //nolint:contextcheck // stopping belongs to the server, not to the call
	defer stop()
	events, err := s.threads.Events(waiting, who, t.AgentID, t.ThreadID, &after)
	if err != nil {
		return err
	}
	for e, err := range events {
		switch {
		case err != nil && waiting.Err() != nil:
			return ctx.Err() // the end of the wait is an error only if the caller has disconnected
		case err != nil:
			return err
		case e.TaskID != t.TurnID:
			continue
		case e.Kind == task.EventDone:
			return nil
		case e.Kind == task.EventQueued:
			var queued struct{ Position int }
			if json.Unmarshal(e.Payload, &queued) == nil {
				progress("Waiting, turns ahead: " + strconv.Itoa(queued.Position))
			}
		case e.Kind == task.EventStep:
			var step struct{ Label, State string }
			if json.Unmarshal(e.Payload, &step) == nil && step.State == "started" {
				progress(step.Label)
			}
		}
	}
	return ctx.Err()
}

// progressNotifier returns a function that sends a progress notification, or does nothing if the client requested none.
// Progress counts the steps, because the protocol requires it to increase.
func progressNotifier(ctx context.Context, r *sdk.CallToolRequest) func(string) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func(string) {}
	}
	steps := 0.0
	return func(label string) {
		steps++
		// A failure to notify is ignored: ctx ends when the client disconnects.
		_ = r.Session.NotifyProgress(ctx,
			&sdk.ProgressNotificationParams{ProgressToken: token, Progress: steps, Message: label})
	}
}

// turnResult returns the result of a turn that has ended.
func (s *Server) turnResult(ctx context.Context, t turn, reply *oas.Message) *sdk.CallToolResult {
	failure, failed := reply.Error.Get()
	if !failed {
		return replyResult(t, reply)
	}
	result := s.failed(ctx, &core.Error{Kind: core.KindUpstream, Code: failure.Code, Detail: failure.Detail})
	if reply.Text != "" {
		result.Content = append(result.Content, &sdk.TextContent{Text: "Reply until the error:\n\n" + reply.Text})
	}
	return result
}

// workingResult is the result of a turn that has not ended.
func workingResult(t turn) *sdk.CallToolResult {
	return &sdk.CallToolResult{
		Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("The agent is still working on it. Do not ask again: "+
			"read the reply later with get_messages, agentId %s, threadId %s.", t.AgentID, t.ThreadID)}},
		StructuredContent: struct {
			Status string `json:"status"`
			turn
		}{"working", t},
	}
}

// errNoTurn means that a thread has no such turn.
var errNoTurn = core.NotFound("turn")

// exchange returns the message that started a turn and the reply, which is nil while the turn is running. It reads the
// thread from the end, because the turn is most likely the last one.
func (s *Server) exchange(ctx context.Context, who core.Actor, t turn) (question, reply *oas.Message, err error) {
	args := t.thread()
	for {
		page, err := invoke[*oas.MessageList](ctx, s.api, who, core.OpListMessages, args)
		if err != nil {
			return nil, nil, err
		}
		for _, m := range slices.Backward(page.Messages) {
			switch {
			case m.TurnId != t.TurnID:
			case m.Role == oas.MessageRoleAssistant:
				reply = &m
			default:
				return &m, reply, nil
			}
		}
		if page.NextCursor.Value == "" {
			return nil, nil, errNoTurn
		}
		args["cursor"] = marshal(page.NextCursor.Value)
	}
}

// replyResult returns a reply as the result of the tool: its text with the list of sources, and a link to each cited
// document.
func replyResult(t turn, reply *oas.Message) *sdk.CallToolResult {
	text := reply.Text
	var links []sdk.Content
	linked := map[string]bool{}
	for i, c := range reply.Citations {
		if i == 0 {
			text += "\n\nSources:"
		}
		text += "\n[" + strconv.Itoa(c.N) + "] " + citationLine(c)
		if !linked[c.DocumentId] {
			linked[c.DocumentId] = true
			links = append(links, &sdk.ResourceLink{
				URI: documentURI(t.AgentID, c.DocumentId), Name: c.DocumentId, Title: c.Title, MIMEType: "text/markdown",
				Description: "Cited as [" + strconv.Itoa(c.N) + "]: " + c.Quote,
			})
		}
	}
	return &sdk.CallToolResult{
		Content: append([]sdk.Content{&sdk.TextContent{Text: text}}, links...), StructuredContent: structuredReply(t, reply),
	}
}

// structuredReply returns a reply as the structured content of the tool. Members that the REST reply omits are omitted
// here as well.
func structuredReply(t turn, reply *oas.Message) map[string]any {
	out := map[string]any{
		"status": "complete", "text": reply.Text, "messageId": reply.ID,
		"agentId": t.AgentID, "threadId": t.ThreadID, "turnId": t.TurnID,
	}
	if partial, ok := reply.Partial.Get(); ok {
		out["partial"] = partial
	}
	if reply.Citations != nil {
		out["citations"] = reply.Citations
	}
	if reply.Checks != nil {
		out["checks"] = reply.Checks
	}
	if reply.Sentences != nil {
		out["sentences"] = reply.Sentences
	}
	if reply.Actions != nil {
		out["actions"] = reply.Actions
	}
	if reply.FollowUps != nil {
		out["followUps"] = reply.FollowUps
	}
	if query, ok := reply.Query.Get(); ok {
		out["query"] = query
	}
	if reply.MemoriesUsed != nil {
		out["memoriesUsed"] = reply.MemoriesUsed
	}
	if usage, ok := reply.Usage.Get(); ok {
		out["usage"] = &usage
	}
	return out
}

// citationLine formats a cited document in one line.
func citationLine(c oas.Citation) string {
	parts := []string{c.Title}
	if len(c.Authors) > 0 {
		parts = append(parts, strings.Join(c.Authors, ", "))
	}
	if year := c.Year.Value; year > 0 {
		parts = append(parts, strconv.Itoa(year))
	}
	if c.URL.Value != "" {
		parts = append(parts, c.URL.Value)
	}
	return strings.Join(parts, ". ")
}
