package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

type taskCommands struct {
	List   taskList   `cmd:"" help:"List tasks, newest first: unfinished ones, or those in --state."`
	Show   taskShow   `cmd:"" help:"Show a task with its steps."`
	Cancel taskCancel `cmd:"" help:"Cancel a task. A running task stops within a second."`
}

type taskList struct {
	State string `enum:"queued,running,complete,failed,cancelled," default:"" help:"Only tasks in this state: queued, running, complete, failed or cancelled."`
	Limit int    `default:"50" help:"Maximum number of tasks. Default: 50."`
	JSON  bool   `help:"Print one JSON object: {\"tasks\":[…]}."`
}

// Run lists tasks.
func (c taskList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		if c.Limit < 1 {
			return core.InvalidField("/limit", "Must be 1 or more.")
		}
		tasks, err := a.Store.Tasks(ctx, task.State(c.State), c.Limit)
		if err != nil {
			return err
		}
		return printList(a, c.JSON, "tasks", tasks, taskJSON,
			"ID\tKIND\tSTATE\tATTEMPT\tCREATED\tENDED\tERROR\tNODE", func(t task.Task) []string {
				return []string{
					t.ID, t.Kind, string(t.State), strconv.Itoa(t.Attempt), date(t.CreatedAt), dateOr(t.FinishedAt, "-"),
					orDash(t.ErrorCode), orDash(t.Owner),
				}
			})
	})
}

// orDash replaces an empty cell of a table by a dash.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// taskJSON leaves out input and result, which contain the user's texts.
func taskJSON(t task.Task) map[string]any {
	out := map[string]any{
		"id": t.ID, "kind": t.Kind, "key": t.Key, "number": t.Number, "state": t.State, "attempt": t.Attempt,
		"crashes": t.Crashes, "createdAt": date(t.CreatedAt), "deadlineAt": date(t.DeadlineAt),
	}
	for name, value := range map[string]string{
		"userId":      t.UserID,
		"node":        t.Owner,
		"errorCode":   t.ErrorCode,
		"errorDetail": t.ErrorDetail,
	} {
		if value != "" {
			out[name] = value
		}
	}
	for name, at := range map[string]*time.Time{
		"startedAt":         t.StartedAt,
		"finishedAt":        t.FinishedAt,
		"cancelRequestedAt": t.CancelRequestedAt,
	} {
		if at != nil {
			out[name] = date(*at)
		}
	}
	return out
}

type taskShow struct {
	ID   string `arg:"" help:"The id of the task, such as a turn id."`
	JSON bool   `help:"Print one JSON object: {\"task\":{…},\"steps\":[…]}."`
}

// Run shows a task.
func (c taskShow) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		t, err := a.Store.Task(ctx, c.ID)
		if err != nil {
			return err
		}
		steps, err := a.Store.TaskSteps(ctx, c.ID)
		if err != nil {
			return err
		}
		list := make([]map[string]any, len(steps))
		rows := make([][]string, len(steps))
		for i, s := range steps {
			list[i] = map[string]any{
				"n":         s.N,
				"kind":      s.Kind,
				"label":     s.Label,
				"state":     s.State,
				"startedAt": date(s.StartedAt),
			}
			if s.EndedAt != nil {
				list[i]["endedAt"] = date(*s.EndedAt)
			}
			rows[i] = []string{strconv.Itoa(s.N), s.Kind, s.Label, string(s.State), date(s.StartedAt), dateOr(s.EndedAt, "-")}
		}
		if c.JSON {
			return a.print(true, map[string]any{"task": taskJSON(t), "steps": list}, "")
		}
		b, err := json.MarshalIndent(taskJSON(t), "", "  ")
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(a.env.Out, string(b)); err != nil {
			return err
		}
		return a.table("STEP\tKIND\tLABEL\tSTATE\tSTARTED\tENDED", rows)
	})
}

type taskCancel struct {
	ID   string `arg:"" help:"The id of the task, such as a turn id."`
	JSON bool   `help:"Print one JSON object: {\"cancelled\":true}."`
}

// Run cancels a task. A queued task ends at once; a running task is ended by the server that runs it.
func (c taskCancel) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		cancelled, err := a.Tasks.Cancel(ctx, c.ID)
		if err != nil {
			return err
		}
		if !cancelled {
			return a.print(c.JSON, map[string]any{"cancelled": false}, "%s has already ended.", c.ID)
		}
		return a.print(c.JSON, map[string]any{"cancelled": true}, "Cancelled %s.", c.ID)
	})
}
