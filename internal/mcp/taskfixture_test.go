package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
)

// memoryTasks stores the tasks of the suite's tools in memory. They also fail and request input, which turns do not.
type memoryTasks struct {
	mu    sync.Mutex
	tasks map[string]*memoryTask
}

type memoryTask struct {
	state   taskState
	stop    context.CancelFunc
	pending map[string]json.RawMessage
	// answered is closed when no input is pending.
	answered chan struct{}
}

func fixtureTasks(s *sdk.Server) *memoryTasks {
	tasks := &memoryTasks{tasks: map[string]*memoryTask{}}
	add(s, "greet", `{"type":"object","properties":{"name":{"type":"string"}}}`,
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in struct{ Name string }
			_ = json.Unmarshal(r.Params.Arguments, &in)
			return textResult("Hello, %s!", in.Name)
		})
	add(s, "slow_compute", "", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in struct{ Seconds float64 }
		_ = json.Unmarshal(r.Params.Arguments, &in)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(in.Seconds * float64(time.Second))):
			return textResult("computed")
		}
	})
	add(s, "failing_job", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		time.Sleep(time.Second) // required by the suite
		result := &sdk.CallToolResult{}
		result.SetError(errors.New("the job failed"))
		return result, nil
	})
	add(s, "protocol_error_job", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "broken"}
	})
	waits := func(fields ...string) toolFunc {
		return func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if !tasks.wait(ctx, fields) {
				return nil, ctx.Err()
			}
			return textResult("answered")
		}
	}
	add(s, "confirm_delete", "", waits("confirm"))
	add(s, "multi_input", "", waits("first", "second"))
	add(s, "test_tool_with_task", "", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		name, ok := accepted(r.Params.InputResponses, "user_name", "name")
		if !ok {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"user_name": elicitField("name", "string")}}, nil
		}
		return textResult("Hello, %v!", name)
	})
	return tasks
}

func (*memoryTasks) supports(tool string) taskSupport {
	switch tool {
	case "slow_compute", "protocol_error_job", "confirm_delete", "multi_input":
		return taskOptional
	case "failing_job", "test_tool_with_task":
		return taskRequired
	}
	return taskNever
}

type memoryTaskKey struct{}

// wait blocks until the client has sent all the fields.
func (k *memoryTasks) wait(ctx context.Context, fields []string) bool {
	t, ok := ctx.Value(memoryTaskKey{}).(*memoryTask)
	if !ok {
		return true // called without a task, so no input can be requested
	}
	k.mu.Lock()
	for _, field := range fields {
		t.pending[rand.Text()] = marshal(map[string]any{
			"method": "elicitation/create", "params": elicitField(field, "string"),
		})
	}
	k.updateStatus(t)
	k.mu.Unlock()
	select {
	case <-t.answered:
		return true
	case <-ctx.Done():
		return false
	}
}

// updateStatus sets the status by the pending input. The caller holds k.mu.
func (k *memoryTasks) updateStatus(t *memoryTask) {
	t.state.Status, t.state.InputRequests = taskInput, marshal(t.pending)
	if len(t.pending) == 0 {
		t.state.Status, t.state.InputRequests = taskWorking, nil
	}
}

func (k *memoryTasks) begin(
	ctx context.Context, r *sdk.CallToolRequest, next sdk.MethodHandler,
) (*taskState, sdk.Result, error) {
	if r.Params.Name == "test_tool_with_task" && len(r.Params.InputResponses) == 0 {
		result, err := next(ctx, "tools/call", r)
		return nil, result, err
	}
	now, ttl := time.Now().UTC().Format(time.RFC3339Nano), time.Hour.Milliseconds()
	t := &memoryTask{
		state: taskState{
			TaskID:         rand.Text(),
			Status:         taskWorking,
			CreatedAt:      now,
			LastUpdatedAt:  now,
			TTLMs:          &ttl,
			PollIntervalMs: 100,
		},
		pending: map[string]json.RawMessage{}, answered: make(chan struct{}),
	}
	running, stop := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), memoryTaskKey{}, t))
	t.stop = stop
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tasks[t.state.TaskID] = t
	made := t.state
	go func() {
		result, err := next(running, "tools/call", r)
		k.mu.Lock()
		defer k.mu.Unlock()
		t.state.LastUpdatedAt, t.state.InputRequests = time.Now().UTC().Format(time.RFC3339Nano), nil
		switch {
		case running.Err() != nil:
			t.state.Status = taskCancelled
		case err != nil:
			t.state.Status = taskFailed
			if !errors.As(err, &t.state.Error) {
				t.state.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprint(err)}
			}
		default:
			t.state.Status, t.state.Result = taskCompleted, result
		}
	}()
	return &made, nil, nil
}

func (k *memoryTasks) find(id string) (*memoryTask, error) {
	if t := k.tasks[id]; t != nil {
		return t, nil
	}
	return nil, errNoTask
}

func (k *memoryTasks) get(_ context.Context, _ core.Actor, id string) (*taskState, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, err := k.find(id)
	if err != nil {
		return nil, err
	}
	state := t.state
	return &state, nil
}

func (k *memoryTasks) update(_ context.Context, _ core.Actor, id string, responses map[string]json.RawMessage) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, err := k.find(id)
	if err != nil || len(t.pending) == 0 {
		return err
	}
	maps.DeleteFunc(t.pending, func(key string, _ json.RawMessage) bool { return responses[key] != nil })
	k.updateStatus(t)
	if len(t.pending) == 0 {
		close(t.answered)
	}
	return nil
}

func (k *memoryTasks) cancel(_ context.Context, _ core.Actor, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, err := k.find(id)
	if err == nil {
		t.stop()
	}
	return err
}
