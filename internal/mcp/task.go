package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
)

// tasksExtension is the name of the extension by which a tool's call becomes a task (SEP-2663). The SDK has none of it.
const tasksExtension = "io.modelcontextprotocol/tasks"

// The methods of the extension.
const (
	taskGet    = "tasks/get"
	taskUpdate = "tasks/update"
	taskCancel = "tasks/cancel"
)

// The states of a task.
const (
	taskWorking   = "working"
	taskInput     = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// taskState is a task as the wire has it, when it is made and when it is read.
type taskState struct {
	sdk.ResultBase
	// ResultType tells a new task from one that is read.
	ResultType    string `json:"resultType"`
	TaskID        string `json:"taskId"`
	Status        string `json:"status"`
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	// TTLMs is how long the task is kept; null is as long as what it is about.
	TTLMs          *int64          `json:"ttlMs"`
	PollIntervalMs int64           `json:"pollIntervalMs,omitempty"`
	Result         sdk.Result      `json:"result,omitempty"`
	Error          *jsonrpc.Error  `json:"error,omitempty"`
	InputRequests  json.RawMessage `json:"inputRequests,omitempty"`
}

// taskParams are those of all three methods.
type taskParams struct {
	sdk.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// taskAck is the empty answer.
type taskAck struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// support is what a tool does with the extension.
type support int

const (
	neverTask support = iota
	// maybeTask is a task for clients that know the extension.
	maybeTask
	// alwaysTask can't be called by others.
	alwaysTask
)

// taskKeeper begins and keeps tasks.
type taskKeeper interface {
	// supports says what a tool does with the extension.
	supports(tool string) support
	// begin carries a call out as a task. It returns nil and a result where the call is not yet, or not at all, a task.
	begin(ctx context.Context, r *sdk.CallToolRequest, next sdk.MethodHandler) (*taskState, sdk.Result, error)
	// A task that is not there, or somebody else's, is errNoTask.
	get(ctx context.Context, who core.Actor, id string) (*taskState, error)
	update(ctx context.Context, who core.Actor, id string, responses map[string]json.RawMessage) error
	cancel(ctx context.Context, who core.Actor, id string) error
}

// errNoTask is the answer to an id that is none.
var errNoTask = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such task."}

// addTasks teaches a server the extension. The methods are carried out by middleware, which alone knows who is asking.
func addTasks(s *sdk.Server, keeper taskKeeper) error {
	for _, method := range []string{taskGet, taskUpdate, taskCancel} {
		err := sdk.AddReceivingCustomMethod(s, method, func(context.Context, *sdk.ServerSession, *taskParams) (*taskAck, error) {
			return nil, errNoTask
		})
		if err != nil {
			return err
		}
	}
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			switch r := r.(type) {
			case *sdk.CallToolRequest:
				return callTask(ctx, keeper, r, next)
			case *sdk.ServerRequest[*taskParams]:
				if !knowsTasks(r.ClientCapabilities()) {
					return nil, missingTasks()
				}
				return serveTask(ctx, keeper, method, r)
			}
			return next(ctx, method, r)
		}
	})
	return nil
}

// callTask has a call become a task, where tool and client agree on it.
func callTask(ctx context.Context, keeper taskKeeper, r *sdk.CallToolRequest, next sdk.MethodHandler) (sdk.Result, error) {
	const method = "tools/call"
	supported := keeper.supports(r.Params.Name)
	known := knowsTasks(r.ClientCapabilities())
	switch {
	case supported == alwaysTask && !known:
		return nil, missingTasks()
	case supported == neverTask || !known:
		return next(ctx, method, r)
	}
	made, result, err := keeper.begin(ctx, r, next)
	if err != nil || made == nil {
		return result, err
	}
	made.ResultType = "task"
	return made, nil
}

func serveTask(ctx context.Context, keeper taskKeeper, method string, r *sdk.ServerRequest[*taskParams]) (sdk.Result, error) {
	who, id := actorOf(r), r.Params.TaskID
	var err error
	switch method {
	case taskUpdate:
		err = keeper.update(ctx, who, id, r.Params.InputResponses)
	case taskCancel:
		err = keeper.cancel(ctx, who, id)
	default:
		state, err := keeper.get(ctx, who, id)
		if err != nil {
			return nil, err
		}
		state.ResultType = "complete"
		return state, nil
	}
	if err != nil {
		return nil, err
	}
	return &taskAck{ResultType: "complete"}, nil
}

func knowsTasks(c *sdk.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	_, ok := c.Extensions[tasksExtension]
	return ok
}

// missingTasks tells a client which extension it would need.
func missingTasks() error {
	return &jsonrpc.Error{
		Code: sdk.CodeMissingRequiredClientCapabilities, Message: "This needs a client that knows tasks.",
		Data: marshal(map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}}),
	}
}

// checkTaskHeader holds a request about a task to its header, by which proxies route it.
func checkTaskHeader(name string, m message) error {
	switch m.Method {
	case taskGet, taskUpdate, taskCancel:
		if strings.TrimSpace(name) != m.Params.TaskID {
			return &rpcError{Code: codeHeaderMismatch, Message: "The header Mcp-Name must be the task's id."}
		}
	}
	return nil
}
