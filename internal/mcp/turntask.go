package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
)

// taskPoll is the interval at which clients should poll a task.
const taskPoll = 2 * time.Second

// turnTasks serves the turns of agents as tasks. It holds no state: turns are stored in the database and the task id
// locates the turn, so every node can serve every task, also after a restart.
type turnTasks struct{ *Server }

func (turnTasks) supports(tool string) taskSupport {
	if tool == askTool {
		return taskOptional
	}
	return taskNever
}

func (t turn) taskID() string { return t.AgentID + "." + t.ThreadID + "." + t.TurnID }

// parseTaskID returns the turn that a task id locates. It does not check whether the turn exists.
func parseTaskID(id string) (turn, error) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 || slices.Contains(parts, "") {
		return turn{}, errNoTask
	}
	return turn{AgentID: parts[0], ThreadID: parts[1], TurnID: parts[2]}, nil
}

// begin sends the message without waiting for the reply. A refused message is a result, as without tasks.
func (s turnTasks) begin(
	ctx context.Context, r *sdk.CallToolRequest, _ sdk.MethodHandler,
) (*taskState, sdk.Result, error) {
	who := actorOf(r)
	t, _, err := s.send(ctx, who, r.Params.Arguments)
	if err != nil {
		return nil, s.failed(ctx, err), nil
	}
	state, err := s.get(ctx, who, t.taskID())
	if err != nil {
		return nil, nil, err
	}
	state.Result = nil // clients read the result with tasks/get, even if the turn has ended already
	return state, nil, nil
}

func (s turnTasks) get(ctx context.Context, who core.Actor, id string) (*taskState, error) {
	t, err := parseTaskID(id)
	if err != nil {
		return nil, err
	}
	question, reply, err := s.exchange(ctx, who, t)
	if err != nil {
		return nil, taskError(err)
	}
	state := &taskState{
		TaskID: id, Status: taskWorking, CreatedAt: question.CreatedAt, LastUpdatedAt: question.CreatedAt,
		PollIntervalMs: taskPoll.Milliseconds(),
	}
	if reply == nil {
		return state, nil
	}
	state.LastUpdatedAt = reply.CreatedAt
	if string(reply.Status) == taskCancelled {
		state.Status = taskCancelled
		return state, nil
	}
	// A failed turn is a completed task whose result is an error: taskFailed is for errors of the protocol.
	state.Status, state.Result = taskCompleted, s.turnResult(ctx, t, reply)
	return state, nil
}

// update only checks that the task exists: turns request no input.
func (s turnTasks) update(ctx context.Context, who core.Actor, id string, _ map[string]json.RawMessage) error {
	_, err := s.get(ctx, who, id)
	return err
}

// cancel cancels the turn if it is still running.
func (s turnTasks) cancel(ctx context.Context, who core.Actor, id string) error {
	state, err := s.get(ctx, who, id)
	if err != nil || state.Status != taskWorking {
		return err
	}
	t, err := parseTaskID(id)
	if err != nil {
		return err
	}
	_, err = s.api.Invoke(ctx, who, core.OpCancelTurn, t.thread())
	return taskError(err)
}

// taskError turns a not-found error into the one for an unknown task.
func taskError(err error) error {
	if core.IsKind(err, core.KindNotFound) {
		return errNoTask
	}
	return err
}
