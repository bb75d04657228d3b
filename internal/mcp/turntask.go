package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
)

// taskPoll is how often a client is told to look after its task.
const taskPoll = 2 * time.Second

// turnTasks are the tasks of this server: turns of agents. Nothing is kept of them here. A turn is durable, and its id says
// where it is, so that every node has the task, and so does the next process.
type turnTasks struct{ *Server }

func (turnTasks) supports(tool string) support {
	if tool == askTool {
		return maybeTask
	}
	return neverTask
}

func (t turn) taskID() string { return t.AgentID + "." + t.ThreadID + "." + t.TurnID }

// parseTaskID reads where a turn is. Whether it is there, and whose, is found out by reading it.
func parseTaskID(id string) (turn, error) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 {
		return turn{}, errNoTask
	}
	return turn{AgentID: parts[0], ThreadID: parts[1], TurnID: parts[2]}, nil
}

// begin asks the agent, and does not wait. A question that is refused is a result, as it is without tasks.
func (s turnTasks) begin(ctx context.Context, r *sdk.CallToolRequest, _ sdk.MethodHandler) (*taskState, sdk.Result, error) {
	who := actorOf(r)
	asked, _, err := s.send(ctx, who, r.Params.Arguments)
	if err != nil {
		return nil, s.failed(ctx, err), nil
	}
	state, err := s.get(ctx, who, asked.taskID())
	if err != nil {
		return nil, nil, err
	}
	state.Result = nil // what is done already is read like all else
	return state, nil, nil
}

func (s turnTasks) get(ctx context.Context, who core.Actor, id string) (*taskState, error) {
	asked, err := parseTaskID(id)
	if err != nil {
		return nil, err
	}
	question, m, err := s.exchange(ctx, who, asked)
	if err != nil {
		return nil, taskError(err)
	}
	state := &taskState{
		TaskID: id, Status: taskWorking, CreatedAt: question.CreatedAt, LastUpdatedAt: question.CreatedAt, PollIntervalMs: taskPoll.Milliseconds(),
	}
	if m == nil {
		return state, nil
	}
	state.LastUpdatedAt = m.CreatedAt
	if m.Status == taskCancelled {
		state.Status = taskCancelled
		return state, nil
	}
	// A turn that failed is a task that completed, with a result that says so: the protocol itself did not fail.
	state.Status, state.Result = taskCompleted, s.outcome(ctx, asked, m)
	return state, nil
}

// update has nothing to hand over: a turn asks nothing.
func (s turnTasks) update(ctx context.Context, who core.Actor, id string, _ map[string]json.RawMessage) error {
	_, err := s.get(ctx, who, id)
	return err
}

// cancel ends the turn, unless it has ended or another one works in its thread.
func (s turnTasks) cancel(ctx context.Context, who core.Actor, id string) error {
	state, err := s.get(ctx, who, id)
	if err != nil || state.Status != taskWorking {
		return err
	}
	asked, err := parseTaskID(id)
	if err != nil {
		return err
	}
	_, _, err = s.api.Invoke(ctx, who, httpapi.Call{
		Method: http.MethodPost, Target: "/api/agents/" + url.PathEscape(asked.AgentID) + "/threads/" + url.PathEscape(asked.ThreadID) + "/cancel",
	})
	return taskError(err)
}

// taskError says of what is not there, or not the caller's, that there is no such task.
func taskError(err error) error {
	if core.IsKind(err, core.KindNotFound) {
		return errNoTask
	}
	return err
}
