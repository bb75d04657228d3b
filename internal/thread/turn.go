package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// turnKind is the task kind of turns, and turnDeadline the default time limit of a turn.
const (
	turnKind     = "turn"
	turnDeadline = 15 * time.Minute
)

// turnInput is the input of a turn's task.
type turnInput struct {
	AgentID   string `json:"agentId"`
	MessageID string `json:"messageId"`
	Text      string `json:"text"`
	Research  bool   `json:"research,omitempty"`
	Sender    Sender `json:"sender,omitzero"`
	Scope     Scope  `json:"scope,omitzero"`
}

// senderOperations are the operations that a turn carries out if the user asks for them in words.
var senderOperations = []core.Operation{
	core.OpAddMemory, core.OpDeleteMemory, core.OpSaveFavourite, core.OpDeleteFavourite,
}

// senderOf returns the sender of a message with the operations that it is allowed now. The services check the grant
// again when the turn carries one out.
func (s *Service) senderOf(ctx context.Context, actor core.Actor, agentID string) Sender {
	out := Sender{Credential: actor.Credential, CredentialID: actor.CredentialID}
	for _, op := range senderOperations {
		if s.allow(ctx, actor, op, agentID) == nil {
			out.Operations = append(out.Operations, op)
		}
	}
	return out
}

// Kind returns the task kind of turns, to be registered with the engine.
func (s *Service) Kind() task.Kind {
	return task.Kind{
		Name: turnKind, Run: s.runTurn, Finish: s.finishTurn, Deadline: s.deadline,
		MaxRunning: s.limits.PerNode, MaxPerUser: s.limits.PerUser,
	}
}

func (s *Service) runTurn(ctx context.Context, r *task.Run) (task.Outcome, error) {
	t := r.Task()
	var in turnInput
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return task.Outcome{}, fmt.Errorf("read a turn's input: %w", err)
	}
	answer, err := s.answerer.Answer(ctx, r, Question{
		UserID: t.UserID, AgentID: in.AgentID, ThreadID: t.Key, MessageID: in.MessageID, Text: in.Text,
		Research: in.Research, Sender: in.Sender, Scope: in.Scope,
	})
	answer.Steps = stepsOf(r.Steps())
	result, jsonErr := json.Marshal(answer)
	return task.Outcome{Result: result}, errors.Join(err, jsonErr)
}

// replyOf returns the reply to a turn that ended in this state at this time, with the answer in result.
func replyOf(turnID, threadID string, state task.State, at time.Time, result []byte) (Message, error) {
	reply := Message{
		// Derived from the turn's id, so that a repeated finish writes the same message.
		ID:       core.PrefixMessage + strings.TrimPrefix(turnID, core.PrefixTurn),
		ThreadID: threadID, Role: RoleAssistant, Status: string(state), TurnID: turnID, CreatedAt: at,
	}
	if len(result) > 0 {
		if err := json.Unmarshal(result, &reply.Answer); err != nil {
			return Message{}, fmt.Errorf("read a turn's result: %w", err)
		}
	}
	reply.Text, reply.Answer.Text = reply.Answer.Text, ""
	reply.Text = strings.ReplaceAll(reply.Text, "\x00", "\uFFFD") // not supported by PostgreSQL
	return reply, nil
}

// finishTurn ends a turn. Its reply, the thread's state and the last event are stored in one transaction.
func (s *Service) finishTurn(ctx context.Context, f task.Fence, o task.Outcome) error {
	reply, err := replyOf(f.TaskID, f.Key, o.State, o.At, o.Result)
	if err != nil {
		return err
	}
	if reply.Text == "" && o.State != task.StateComplete {
		// The run was interrupted or failed. Keep the text that readers of the stream have seen.
		text, err := s.textSoFar(ctx, f.TaskID, o.Entry.Events)
		if err != nil {
			return err
		}
		reply.Text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	if len(reply.Answer.Steps) == 0 && o.State != task.StateComplete {
		if reply.Answer.Steps, err = s.stepsSoFar(ctx, f.TaskID, o.Entry.Steps); err != nil {
			return err
		}
	}
	switch o.State {
	case task.StateFailed:
		reply.Error = &TurnError{Code: o.Code, Detail: failure(o.Code, o.Detail)}
	case task.StateCancelled:
		reply.Error = &TurnError{Code: "cancelled", Detail: "The turn was cancelled."}
	}
	last, err := json.Marshal(doneEvent{Status: reply.Status, MessageID: reply.ID, Error: reply.Error})
	if err != nil {
		return err
	}
	o.Event = last
	return s.store.FinishTurn(ctx, f, o, reply)
}

// stepsSoFar returns the steps of a turn that did not complete. rest are records that are not stored yet.
func (s *Service) stepsSoFar(ctx context.Context, taskID string, rest []task.StepRecord) ([]Step, error) {
	records, err := s.store.TaskSteps(ctx, taskID)
	if err != nil {
		return nil, err
	}
	for _, r := range rest {
		records = slices.DeleteFunc(records, func(old task.StepRecord) bool { return old.N == r.N })
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b task.StepRecord) int { return a.N - b.N })
	return stepsOf(records), nil
}

// doneEvent is the last event of a turn.
type doneEvent struct {
	Status    string     `json:"status"`
	MessageID string     `json:"messageId"`
	Error     *TurnError `json:"error,omitempty"`
}

// failure returns the error detail shown to the user for a code of the engine.
func failure(code, detail string) string {
	switch code {
	case task.CodeTimeout:
		return "The turn took too long and was stopped. Try again, or ask a narrower question."
	case task.CodeCrashLoop:
		return "The turn was interrupted too often. Try again."
	case task.CodeInternal:
		return "Something went wrong on our side. Try again."
	}
	return detail
}

// Turn is a message and, once it has ended, its reply.
type Turn struct {
	ID string
	// Working is set while there is no reply yet.
	Working bool
	// Reply has no Seq if the turn is complete.
	Reply Message
}

// NewMessage is a message sent by a user.
type NewMessage struct {
	Text string
	// Research requests a long turn.
	Research bool
	// VersionOf is the id of a message, or "". The new message is then a version of its exchange: of the question and the
	// reply that the message belongs to.
	VersionOf string
	// Scope limits what the turn searches.
	Scope Scope
}

var messageRule = core.TextRule{Min: 1, Max: 8000}

// AllowSend checks whether the actor may send messages to an agent, for callers that have no thread yet.
func (s *Service) AllowSend(ctx context.Context, actor core.Actor, agentID string, research bool) error {
	if err := s.allow(ctx, actor, core.OpSendMessage, agentID); err != nil || !research {
		return err
	}
	return s.allow(ctx, actor, core.OpResearch, agentID)
}

// Send adds a message to a thread and waits for the reply until the waiting context ends. A repeated text joins the
// active turn; another text is a conflict. The turn continues if the caller stops waiting. With an error, the returned
// turn has an id if it was stored.
func (s *Service) Send(ctx context.Context, actor core.Actor, agentID, threadID string, m NewMessage,
	waiting context.Context, //nolint:revive // not the context of this call
) (Turn, error) {
	if err := s.AllowSend(ctx, actor, agentID, m.Research); err != nil {
		return Turn{}, err
	}
	var detail string
	if m.Text, detail = messageRule.Clean(m.Text); detail != "" {
		return Turn{}, core.InvalidField("/text", detail)
	}
	if !core.IsID(core.PrefixThread, threadID) {
		return Turn{}, core.NotFound("thread")
	}
	if err := s.checkVersionOf(ctx, actor, agentID, threadID, m.VersionOf); err != nil {
		return Turn{}, err
	}
	scope, err := s.checkScope(ctx, actor, agentID, m.Scope)
	if err != nil {
		return Turn{}, err
	}
	messageID := core.NewID(core.PrefixMessage)
	input, err := json.Marshal(turnInput{
		AgentID: agentID, MessageID: messageID, Text: m.Text, Research: m.Research,
		Sender: s.senderOf(ctx, actor, agentID), Scope: scope,
	})
	if err != nil {
		return Turn{}, err
	}
	t, err := s.tasks.SubmitWith(ctx, task.Spec{
		ID: core.NewIDIn(ctx, core.PrefixTurn), Kind: turnKind, Key: threadID, UserID: actor.UserID,
		CredentialID: actor.CredentialID, Input: input,
	}, func(ctx context.Context, t task.Task) (task.Task, error) {
		question := Message{
			ID: messageID, ThreadID: threadID, Role: RoleUser, Text: m.Text, Scope: scope,
			Status: string(task.StateComplete), TurnID: t.ID, CreatedAt: t.CreatedAt,
		}
		if m.VersionOf != "" {
			return s.store.SubmitVersion(ctx, actor.UserID, agentID, m.VersionOf, question, t)
		}
		return s.store.SubmitTurn(ctx, actor.UserID, agentID, titleOf(m.Text), question, t)
	})
	if err != nil {
		return Turn{}, err
	}
	return s.await(ctx, t, waiting)
}

// checkVersionOf returns an error unless the id is empty or that of a message of the thread.
func (s *Service) checkVersionOf(ctx context.Context, actor core.Actor, agentID, threadID, messageID string) error {
	if messageID == "" {
		return nil
	}
	if err := s.CheckThread(ctx, actor, agentID, threadID); err != nil {
		return err
	}
	err := error(core.NotFound("message"))
	if core.IsID(core.PrefixMessage, messageID) {
		_, err = s.store.Message(ctx, threadID, messageID)
	}
	if core.IsKind(err, core.KindNotFound) {
		return core.InvalidField("/versionOf", "Must be the id of a message of this thread.")
	}
	return err
}

// await waits for the end of a turn. It returns the reply, or Working if the waiting context ends first.
//
//nolint:revive // as in Send
func (s *Service) await(ctx context.Context, t task.Task, waiting context.Context) (Turn, error) {
	if !t.State.Ended() {
		if waiting.Err() != nil && ctx.Err() == nil {
			return Turn{ID: t.ID, Working: true}, nil // also if the turn has ended meanwhile
		}
		ended, err := s.tasks.Wait(waiting, t.ID)
		switch {
		case core.IsKind(err, core.KindNotFound):
			return Turn{ID: t.ID}, core.NotFound("thread") // deleted meanwhile
		case err != nil && ctx.Err() != nil:
			return Turn{ID: t.ID}, ctx.Err()
		case err != nil && waiting.Err() != nil:
			return Turn{ID: t.ID, Working: true}, nil //nolint:nilerr // a timeout of the wait is not an error
		case err != nil:
			return Turn{ID: t.ID}, err
		}
		t = ended
	}
	if t.State == task.StateComplete && t.FinishedAt != nil {
		// The task has the whole reply, so it is not read again.
		reply, err := replyOf(t.ID, t.Key, t.State, *t.FinishedAt, t.Result)
		return Turn{ID: t.ID, Reply: reply}, err
	}
	reply, err := s.store.Reply(ctx, t.Key, t.ID)
	if err != nil {
		return Turn{ID: t.ID}, err
	}
	return Turn{ID: t.ID, Reply: reply}, reply.failure()
}

// failure returns the error of a request whose turn did not complete.
func (m Message) failure() error {
	switch {
	case m.Error == nil:
		return nil
	case m.Status == string(task.StateCancelled):
		return core.Conflict("turn_cancelled", "The turn was cancelled.")
	}
	e := &core.Error{Kind: core.KindUpstream, Code: "model_failed", Detail: m.Error.Detail}
	switch m.Error.Code {
	case task.CodeTimeout, "model_timeout":
		e.Kind, e.Code = core.KindTimeout, "model_timeout"
	case "unavailable":
		e.Kind, e.Code = core.KindUnavailable, m.Error.Code
	case task.CodeInternal, task.CodeCrashLoop:
		e.Kind, e.Code = core.KindInternal, "internal"
	case "spend_cap_reached":
		e.Kind, e.Code = core.KindPaymentRequired, m.Error.Code
	}
	return e
}

// Cancel cancels the active turn of a thread and reports whether there was one.
func (s *Service) Cancel(ctx context.Context, actor core.Actor, agentID, threadID string) (bool, error) {
	if err := s.allow(ctx, actor, core.OpCancelTurn, agentID); err != nil {
		return false, err
	}
	if err := s.CheckThread(ctx, actor, agentID, threadID); err != nil {
		return false, err
	}
	return s.cancel(ctx, threadID)
}

func (s *Service) cancel(ctx context.Context, threadID string) (bool, error) {
	t, err := s.store.ActiveTask(ctx, threadID)
	if core.IsKind(err, core.KindNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.tasks.Cancel(ctx, t.ID)
}
