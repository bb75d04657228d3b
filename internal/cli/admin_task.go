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
	List   taskList   `cmd:"" help:"List tasks, newest first: those that have not ended, or those in a state."`
	Show   taskShow   `cmd:"" help:"Show a task with its steps."`
	Cancel taskCancel `cmd:"" help:"Cancel a task; a running one is told within a second."`
}

type taskList struct {
	State string `enum:"queued,running,complete,failed,cancelled," default:"" help:"Only tasks in this state: queued, running, complete, failed or cancelled."`
	Limit int    `default:"50" help:"How many at most. Default: 50."`
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
		if c.JSON {
			list := make([]map[string]any, len(tasks))
			for i, t := range tasks {
				list[i] = taskJSON(t)
			}
			return a.print(true, map[string]any{"tasks": list}, "")
		}
		rows := make([][]string, len(tasks))
		for i, t := range tasks {
			rows[i] = []string{t.ID, t.Kind, string(t.State), strconv.Itoa(t.Attempt), date(t.CreatedAt), dateOr(t.FinishedAt, "-"), orDash(t.ErrorCode), orDash(t.Owner)}
		}
		return a.table("ID\tKIND\tSTATE\tATTEMPT\tCREATED\tENDED\tERROR\tNODE", rows)
	})
}

// orDash keeps a column of a table from being empty.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// taskJSON shows a task without its input and result, which are the user's own words.
func taskJSON(t task.Task) map[string]any {
	out := map[string]any{
		"id": t.ID, "kind": t.Kind, "key": t.Key, "number": t.Number, "state": t.State, "attempt": t.Attempt,
		"crashes": t.Crashes, "createdAt": date(t.CreatedAt), "deadlineAt": date(t.DeadlineAt),
	}
	for name, value := range map[string]string{"userId": t.UserID, "node": t.Owner, "errorCode": t.ErrorCode, "errorDetail": t.ErrorDetail} {
		if value != "" {
			out[name] = value
		}
	}
	for name, at := range map[string]*time.Time{"startedAt": t.StartedAt, "finishedAt": t.FinishedAt, "cancelRequestedAt": t.CancelRequestedAt} {
		if at != nil {
			out[name] = date(*at)
		}
	}
	return out
}

type taskShow struct {
	ID   string `arg:"" help:"The task's id, such as a turn's."`
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
			list[i] = map[string]any{"n": s.N, "kind": s.Kind, "label": s.Label, "state": s.State, "startedAt": date(s.StartedAt)}
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
	ID   string `arg:"" help:"The task's id, such as a turn's."`
	JSON bool   `help:"Print one JSON object: {\"cancelled\":true}."`
}

// Run cancels a task. A queued one ends here; a running one is ended by the server that runs it.
func (c taskCancel) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		cancelled, err := a.Tasks.Cancel(ctx, c.ID)
		if err != nil {
			return err
		}
		if !cancelled {
			return a.print(c.JSON, map[string]any{"cancelled": false}, "%s has ended already.", c.ID)
		}
		return a.print(c.JSON, map[string]any{"cancelled": true}, "%s is cancelled.", c.ID)
	})
}
