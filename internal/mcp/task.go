package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
)

// tasksExtension names the extension that turns tool calls into tasks (SEP-2663). The SDK does not implement it.
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

// taskState is a task in the protocol's JSON form.
type taskState struct {
	sdk.ResultBase
	// ResultType is "task" for a new task and "complete" for the reply to tasks/get.
	ResultType    string `json:"resultType"`
	TaskID        string `json:"taskId"`
	Status        string `json:"status"`
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	// TTLMs is how long the task is kept; null means as long as its thread.
	TTLMs          *int64          `json:"ttlMs"`
	PollIntervalMs int64           `json:"pollIntervalMs,omitempty"`
	Result         sdk.Result      `json:"result,omitempty"`
	Error          *jsonrpc.Error  `json:"error,omitempty"`
	InputRequests  json.RawMessage `json:"inputRequests,omitempty"`
}

// taskParams are the parameters of all three methods.
type taskParams struct {
	sdk.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// taskAck is an empty result.
type taskAck struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// taskSupport says whether a tool can run as a task.
type taskSupport int

const (
	taskNever taskSupport = iota
	// taskOptional tools run as a task for clients that support the extension.
	taskOptional
	// taskRequired tools can only be called by clients that support the extension.
	taskRequired
)

// taskStore starts and stores tasks.
type taskStore interface {
	supports(tool string) taskSupport
	// begin starts a call as a task. If the call does not become a task, it returns a nil state and the result.
	begin(ctx context.Context, r *sdk.CallToolRequest, next sdk.MethodHandler) (*taskState, sdk.Result, error)
	// get returns errNoTask for an unknown task, and for one of another user. So do update and cancel.
	get(ctx context.Context, who core.Actor, id string) (*taskState, error)
	update(ctx context.Context, who core.Actor, id string, responses map[string]json.RawMessage) error
	cancel(ctx context.Context, who core.Actor, id string) error
}

// errNoTask is the error for an unknown task id.
var errNoTask = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such task."}

// addTasks adds the extension to a server. Middleware carries out the methods, because the SDK does not pass the actor
// to custom methods.
func addTasks(s *sdk.Server, tasks taskStore) error {
	for _, method := range []string{taskGet, taskUpdate, taskCancel} {
		err := sdk.AddReceivingCustomMethod(s, method,
			func(context.Context, *sdk.ServerSession, *taskParams) (*taskAck, error) {
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
				return callTask(ctx, tasks, r, next)
			case *sdk.ServerRequest[*taskParams]:
				if !supportsTasks(r.ClientCapabilities()) {
					return nil, missingTasks()
				}
				return serveTask(ctx, tasks, method, r)
			}
			return next(ctx, method, r)
		}
	})
	return nil
}

// callTask runs a tool call as a task if both the tool and the client support it.
func callTask(
	ctx context.Context, tasks taskStore, r *sdk.CallToolRequest, next sdk.MethodHandler,
) (sdk.Result, error) {
	const method = "tools/call"
	supported := tasks.supports(r.Params.Name)
	known := supportsTasks(r.ClientCapabilities())
	switch {
	case supported == taskRequired && !known:
		return nil, missingTasks()
	case supported == taskNever || !known:
		return next(ctx, method, r)
	}
	state, result, err := tasks.begin(ctx, r, next)
	if err != nil || state == nil {
		return result, err
	}
	state.ResultType = "task"
	return state, nil
}

func serveTask(
	ctx context.Context, tasks taskStore, method string, r *sdk.ServerRequest[*taskParams],
) (sdk.Result, error) {
	who, id := actorOf(r), r.Params.TaskID
	var err error
	switch method {
	case taskUpdate:
		err = tasks.update(ctx, who, id, r.Params.InputResponses)
	case taskCancel:
		err = tasks.cancel(ctx, who, id)
	default:
		state, err := tasks.get(ctx, who, id)
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

func supportsTasks(c *sdk.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	_, ok := c.Extensions[tasksExtension]
	return ok
}

// missingTasks is the error for a client that does not support the extension.
func missingTasks() error {
	return &jsonrpc.Error{
		Code: sdk.CodeMissingRequiredClientCapabilities, Message: "This tool requires a client that supports tasks.",
		Data: marshal(map[string]any{
			"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}},
		}),
	}
}

// checkTaskHeader checks that the header Mcp-Name, by which proxies route, names the task of the request.
func checkTaskHeader(name string, m message) error {
	switch m.Method {
	case taskGet, taskUpdate, taskCancel:
		if strings.TrimSpace(name) != m.Params.TaskID {
			return &rpcError{Code: codeHeaderMismatch, Message: "The header Mcp-Name must be the task's id."}
		}
	}
	return nil
}
