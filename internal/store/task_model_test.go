package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/task"
)

// modelChecks is the number of random histories, of about thirty steps each.
const modelChecks = 40

// runTaskModel compares the store with a model of tasks over random histories of submits, claims, steps, ends,
// cancellations, and lost or leaving nodes. Writers may have lost their tasks long before.
func runTaskModel(t *testing.T, db *store.DB) {
	t.Helper()
	checks, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		// After a failure, rapid shrinks the history and may run as many as it needs.
		if checks++; checks > modelChecks && !failed {
			return
		}
		defer func() { failed = failed || rt.Failed() }()
		m := newModel(t, rt, db)
		rt.Repeat(map[string]func(*rapid.T){
			"":            m.check,
			"submit":      m.submit,
			"claim":       m.claim,
			"step":        m.step,
			"finish":      m.finish,
			"again":       m.again,
			"finishWaits": m.finishWaiting,
			"cancel":      m.cancel,
			"lapse":       m.lapse,
			"renew":       m.renew,
			"leave":       m.leave,
			"sweep":       m.sweep,
			"due":         m.due,
			"advance":     m.advance,
			"delete":      m.delete,
		})
		m.endAll()
	})
}

// modelTask is the expected state of a task.
type modelTask struct {
	task.Task
	steps map[int]task.StepState
	done  int // number of done events
}

func (t *modelTask) active() bool { return !t.State.Ended() }

// model is the expected state of the database.
type model struct {
	t     testing.TB
	rt    *rapid.T
	ctx   context.Context
	db    *store.DB
	now   time.Time
	tasks []*modelTask
	// runners are the fences of all runs ever started.
	runners []task.Fence
	// nodes are the nodes that joined at some time. alive lists those with a valid lease, known those with a lease that
	// was neither given up nor swept.
	nodes        []string
	alive, known map[string]bool
}

var modelKeys = []string{"k0", "k1", "k2"}

func newModel(t testing.TB, rt *rapid.T, db *store.DB) *model {
	m := &model{
		t: t, rt: rt, ctx: t.Context(), db: db, now: time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC),
		alive: map[string]bool{}, known: map[string]bool{},
	}
	// Joining with singleNode removes the nodes of earlier histories.
	m.join(true)
	m.join(false)
	left, err := db.Tasks(m.ctx, "", 1000)
	m.must(err)
	for _, old := range left {
		m.must(db.DeleteTasks(m.ctx, old.Key))
	}
	for _, key := range modelKeys {
		m.must(db.DeleteTasks(m.ctx, key))
	}
	return m
}

func (m *model) must(err error) {
	m.t.Helper()
	if err != nil {
		m.rt.Fatal(err)
	}
}

// want fails the history unless err is the expected error, or nil.
func (m *model) want(what string, err, want error) {
	if !errors.Is(err, want) || want == nil && err != nil {
		m.rt.Fatalf("%s: got error %v, want %v", what, err, want)
	}
}

func (m *model) join(singleNode bool) {
	node := core.NewSeed()
	m.must(m.db.JoinNode(m.ctx, node, "test", time.Hour, singleNode))
	m.nodes = append(m.nodes, node)
	m.alive[node], m.known[node] = true, true
}

// running returns the running task of a key, or nil.
func (m *model) running(key string) *modelTask {
	for _, t := range m.tasks {
		if t.Key == key && t.State == task.StateRunning {
			return t
		}
	}
	return nil
}

func (m *model) byID(id string) *modelTask {
	for _, t := range m.tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// holds reports whether the model expects the fence to hold.
func (m *model) holds(f task.Fence) bool {
	t := m.byID(f.TaskID)
	return t != nil && t.active() && t.Owner == f.Owner && t.Attempt == f.Attempt
}

func (m *model) submit(rt *rapid.T) {
	key := rapid.SampledFrom(append(modelKeys, "")).Draw(rt, "key")
	t := task.Task{
		ID: core.NewID("tsk"), Kind: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "kind"), Key: key,
		RunAt: m.now, CreatedAt: m.now,
	}
	if rapid.Bool().Draw(rt, "later") {
		t.RunAt = m.now.Add(10 * time.Second)
	} else if rapid.Bool().Draw(rt, "here") {
		t.Owner = m.node(rt)
	}
	t.DeadlineAt = t.RunAt.Add(30 * time.Second)
	stored, err := m.db.InsertTask(m.ctx, t)
	m.must(err)

	if key == "" {
		t.Key = t.ID
	}
	t.Number, t.State = 1, task.StateQueued
	busy := false
	for _, other := range m.tasks {
		if other.Key == t.Key {
			t.Number = max(t.Number, other.Number+1)
			busy = busy || other.active()
		}
	}
	if t.Owner != "" && !busy {
		t.State, t.Attempt = task.StateRunning, 1
	} else {
		t.Owner = ""
	}
	m.tasks = append(m.tasks, &modelTask{Task: t, steps: map[int]task.StepState{}})
	if stored.Fence() != t.Fence() || stored.State != t.State || stored.Number != t.Number || !stored.New {
		rt.Fatalf("inserted\n%+v, want\n%+v", stored, t)
	}
	if t.State == task.StateRunning {
		m.runners = append(m.runners, t.Fence())
	}
}

func (m *model) claim(rt *rapid.T) {
	kinds := rapid.SampledFrom([][]string{{"a"}, {"a", "b"}}).Draw(rt, "kinds")
	m.claimFor(rt, m.node(rt), kinds, rapid.IntRange(1, 3).Draw(rt, "n"))
}

// again requeues a task and has the same node claim it, so that the earlier run of the same node has lost it.
func (m *model) again(rt *rapid.T) {
	f := m.runner(rt)
	if !m.holds(f) {
		rt.Skip("overtaken")
	}
	m.must(m.db.FinishTask(m.ctx, f, task.Outcome{State: task.StateQueued, RunAt: m.now}))
	t := m.byID(f.TaskID)
	t.State, t.Owner, t.RunAt = task.StateQueued, "", m.now
	m.claimFor(rt, f.Owner, []string{"a", "b"}, 100)
	m.want("record", m.db.RecordTask(m.ctx, f, task.Entry{Events: []task.Event{{TaskID: f.TaskID, Seq: 1000}}}),
		task.ErrLost)
}

func (m *model) claimFor(rt *rapid.T, node string, kinds []string, n int) {
	var want []*modelTask
	for _, t := range m.tasks {
		first := !slices.ContainsFunc(m.tasks, func(o *modelTask) bool {
			return o.Key == t.Key && o.State == task.StateQueued && o.Number < t.Number
		})
		if m.known[node] && t.State == task.StateQueued && !t.RunAt.After(m.now) && slices.Contains(kinds, t.Kind) && first &&
			m.running(t.Key) == nil {
			want = append(want, t)
		}
	}
	slices.SortFunc(want,
		func(a, b *modelTask) int { return cmp.Or(a.RunAt.Compare(b.RunAt), cmp.Compare(a.ID, b.ID)) })
	want = want[:min(n, len(want))]
	got, backlog, err := m.db.ClaimTasks(m.ctx, node, kinds, n, m.now)
	m.must(err)
	if len(got) != len(want) || len(got) > 0 && !backlog {
		rt.Fatalf("claimed %d (backlog %v), want %d", len(got), backlog, len(want))
	}
	for _, t := range want {
		t.State, t.Owner, t.Attempt = task.StateRunning, node, t.Attempt+1
		m.runners = append(m.runners, t.Fence())
		if !slices.ContainsFunc(got, func(g task.Task) bool { return g.Fence() == t.Fence() }) {
			rt.Fatalf("%s was not claimed: %+v", t.ID, got)
		}
	}
}

// runner draws a run: the newest, a lost one of a running task, or any.
func (m *model) runner(rt *rapid.T) task.Fence {
	if len(m.runners) == 0 {
		rt.Skip("no run yet")
	}
	switch rapid.IntRange(0, 2).Draw(rt, "which") {
	case 0:
		return m.runners[len(m.runners)-1]
	case 1:
		for _, f := range m.runners {
			if t := m.byID(f.TaskID); t != nil && t.State == task.StateRunning && t.Attempt > f.Attempt {
				return f
			}
		}
	}
	return rapid.SampledFrom(m.runners).Draw(rt, "runner")
}

func (m *model) step(rt *rapid.T) {
	f := m.runner(rt)
	n := rapid.IntRange(1, 3).Draw(rt, "n")
	state := rapid.SampledFrom([]task.StepState{task.StepStarted, task.StepFinished, task.StepFailed}).Draw(rt, "state")
	last, err := m.db.LastTaskEvent(m.ctx, f.TaskID)
	m.must(err)
	entry := task.Entry{Events: []task.Event{{
		TaskID: f.TaskID, Seq: last + 1, Attempt: f.Attempt, Kind: "step",
		Payload: []byte("{}"),
	}}}
	if rapid.Bool().Draw(rt, "with a step") {
		entry.Steps = []task.StepRecord{{
			N: n, Kind: "k", State: state, Output: []byte(f.Owner), LastSeq: last + 1,
			StartedAt: m.now,
		}}
		entry.Progress = state != task.StepStarted
		entry.Events = append(entry.Events,
			task.Event{TaskID: f.TaskID, Seq: last + 2, Kind: "delta", Payload: []byte("{}")})
	}
	want := task.ErrLost
	if m.holds(f) {
		want = nil
	}
	for range 2 { // a runner repeats a write whose reply was lost
		m.want("record", m.db.RecordTask(m.ctx, f, entry), want)
	}
	if want != nil {
		return
	}
	t := m.byID(f.TaskID)
	if len(entry.Steps) > 0 {
		t.steps[n] = state
	}
	if entry.Progress {
		t.Crashes = 0
	}
}

// outcome draws the outcome of a run.
func (m *model) outcome(rt *rapid.T) task.Outcome {
	o := task.Outcome{At: m.now, Result: []byte("r")}
	switch o.State = rapid.SampledFrom([]task.State{
		task.StateComplete, task.StateFailed, task.StateCancelled, task.StateQueued,
	}).Draw(rt, "outcome"); o.State {
	case task.StateFailed:
		o.Code, o.Detail = "code", "detail"
	case task.StateQueued:
		o.RunAt = m.now.Add(time.Duration(5*rapid.IntRange(0, 1).Draw(rt, "later")) * time.Second)
	}
	return o
}

func (m *model) finish(rt *rapid.T) { m.end(rt, m.runner(rt)) }

// finishWaiting ends queued tasks, or tasks that were queued when they were read.
func (m *model) finishWaiting(rt *rapid.T) {
	if len(m.tasks) == 0 {
		rt.Skip("no tasks")
	}
	t := rapid.SampledFrom(m.tasks).Draw(rt, "task")
	m.end(rt, task.Fence{TaskID: t.ID, Key: t.Key, Attempt: t.Attempt - rapid.IntRange(0, 1).Draw(rt, "overtaken")})
}

func (m *model) end(rt *rapid.T, f task.Fence) {
	o := m.outcome(rt)
	t := m.byID(f.TaskID)
	var want error
	switch {
	case !m.holds(f):
		want = task.ErrLost
	case o.State == task.StateComplete && t.CancelRequestedAt != nil:
		want = task.ErrCancelled
	}
	m.want("finish", m.db.FinishTask(m.ctx, f, o), want)
	if want != nil {
		return
	}
	t.State, t.Owner = o.State, ""
	if o.State == task.StateQueued {
		t.RunAt = o.RunAt
		return
	}
	t.Result, t.ErrorCode, t.ErrorDetail, t.FinishedAt = o.Result, o.Code, o.Detail, &o.At
	t.done++
}

func (m *model) cancel(rt *rapid.T) {
	if len(m.tasks) == 0 {
		rt.Skip("no tasks")
	}
	t := rapid.SampledFrom(m.tasks).Draw(rt, "task")
	got, err := m.db.CancelTask(m.ctx, t.ID, m.now)
	m.must(err)
	if t.active() && t.CancelRequestedAt == nil {
		now := m.now
		t.CancelRequestedAt = &now
	}
	m.compare(rt, got, t)
}

// node draws a node that joined at some time, most likely a recent one.
func (m *model) node(rt *rapid.T) string {
	if rapid.Bool().Draw(rt, "old node") {
		return rapid.SampledFrom(m.nodes).Draw(rt, "node")
	}
	return m.nodes[len(m.nodes)-1]
}

// lapse expires a lease by renewing it for a negative duration.
func (m *model) lapse(rt *rapid.T) {
	node := m.node(rt)
	_, err := m.db.RenewNode(m.ctx, node, -time.Second)
	if m.alive[node] {
		m.must(err)
	} else {
		m.want("renew", err, task.ErrLost)
	}
	m.alive[node] = false
	m.join(false)
}

func (m *model) renew(rt *rapid.T) {
	node := m.node(rt)
	peers, err := m.db.RenewNode(m.ctx, node, time.Hour)
	if !m.alive[node] {
		m.want("renew", err, task.ErrLost)
		return
	}
	m.must(err)
	want := -1
	for _, other := range m.nodes {
		if m.alive[other] {
			want++
		}
	}
	if peers != want {
		rt.Fatalf("%d peers, want %d", peers, want)
	}
}

func (m *model) leave(rt *rapid.T) {
	node := m.node(rt)
	m.must(m.db.LeaveNode(m.ctx, node))
	m.alive[node], m.known[node] = false, false
	for _, t := range m.tasks {
		if t.Owner == node {
			t.State, t.Owner = task.StateQueued, ""
		}
	}
	m.join(false)
}

func (m *model) sweep(rt *rapid.T) {
	want := 0
	for _, t := range m.tasks {
		if t.State == task.StateRunning && !m.alive[t.Owner] {
			t.State, t.Owner = task.StateQueued, ""
			t.Crashes++
			want++
		}
	}
	maps.Copy(m.known, m.alive)
	got, err := m.db.SweepNodes(m.ctx)
	m.must(err)
	if got != want {
		rt.Fatalf("swept %d, want %d", got, want)
	}
}

func (m *model) due(rt *rapid.T) {
	want := map[string]bool{}
	for _, t := range m.tasks {
		if t.active() && t.CancelRequestedAt != nil || t.State == task.StateQueued && !t.DeadlineAt.After(m.now) {
			want[t.ID] = true
		}
	}
	due, err := m.db.DueTasks(m.ctx, m.now, 1000)
	m.must(err)
	got := map[string]bool{}
	for _, t := range due {
		got[t.ID] = true
	}
	if len(due) != len(want) || fmt.Sprint(got) != fmt.Sprint(want) {
		rt.Fatalf("due %v, want %v", got, want)
	}
}

func (m *model) advance(rt *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(rt, "seconds")) * time.Second)
}

func (m *model) delete(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "seldom") > 0 {
		rt.Skip("seldom")
	}
	key := rapid.SampledFrom(modelKeys).Draw(rt, "key")
	m.must(m.db.DeleteTasks(m.ctx, key))
	m.tasks = slices.DeleteFunc(m.tasks, func(t *modelTask) bool { return t.Key == key })
}

// compare fails the history unless a task has its expected state.
func (m *model) compare(rt *rapid.T, got task.Task, want *modelTask) {
	if got.Fence() != want.Fence() || got.State != want.State || got.Crashes != want.Crashes ||
		got.Number != want.Number ||
		!got.RunAt.Equal(want.RunAt) || (got.CancelRequestedAt == nil) != (want.CancelRequestedAt == nil) ||
		string(got.Result) != string(want.Result) || got.ErrorCode != want.ErrorCode ||
		(got.FinishedAt == nil) == got.State.Ended() {
		rt.Fatalf("stored\n%+v, want\n%+v", got, want.Task)
	}
}

// check compares all active tasks, and that at most one task of each key is running.
func (m *model) check(rt *rapid.T) {
	got, err := m.db.Tasks(m.ctx, "", 1000)
	m.must(err)
	active := 0
	running := map[string]int{}
	for _, t := range m.tasks {
		if t.active() {
			active++
		}
	}
	if len(got) != active {
		rt.Fatalf("%d tasks have not ended, want %d", len(got), active)
	}
	for _, g := range got {
		m.compare(rt, g, m.byID(g.ID))
		if g.State == task.StateRunning {
			if running[g.Key]++; running[g.Key] > 1 {
				rt.Fatalf("two of %s run", g.Key)
			}
		}
	}
}

// endAll ends every task like a single remaining node would, and checks the results.
func (m *model) endAll() {
	m.now = m.now.Add(time.Minute)
	for _, node := range m.nodes {
		m.must(m.db.LeaveNode(m.ctx, node))
	}
	m.join(true)
	node := m.nodes[len(m.nodes)-1]
	for range len(m.tasks) + 1 {
		claimed, _, err := m.db.ClaimTasks(m.ctx, node, []string{"a", "b"}, 100, m.now)
		m.must(err)
		for _, t := range claimed {
			m.must(m.db.FinishTask(m.ctx, t.Fence(), task.Outcome{State: task.StateFailed, Code: "end", At: m.now}))
			ended := m.byID(t.ID)
			ended.State, ended.done = task.StateFailed, ended.done+1
			ended.Owner, ended.Attempt, ended.ErrorCode, ended.Result = "", t.Attempt, "end", nil
		}
	}
	for _, want := range m.tasks {
		got, err := m.db.Task(m.ctx, want.ID)
		m.must(err)
		if !got.State.Ended() {
			m.rt.Fatalf("%s has not ended: %s", got.ID, got.State)
		}
		m.compare(m.rt, got, want)
		m.checkJournal(want)
	}
}

// checkJournal compares the steps and events of a task.
func (m *model) checkJournal(t *modelTask) {
	steps, err := m.db.TaskSteps(m.ctx, t.ID)
	m.must(err)
	got := map[int]task.StepState{}
	for _, s := range steps {
		got[s.N] = s.State
	}
	if fmt.Sprint(got) != fmt.Sprint(t.steps) {
		m.rt.Fatalf("steps %v, want %v", got, t.steps)
	}
	events, err := m.db.TaskEvents(m.ctx, t.ID, 0, 1000)
	m.must(err)
	done := 0
	for i, e := range events {
		if e.Seq != int64(i+1) || e.Number != t.Number {
			m.rt.Fatalf("event %d has the id %d.%d", i+1, e.Number, e.Seq)
		}
		if e.Kind == task.EventDone {
			if done++; i != len(events)-1 {
				m.rt.Fatal("an event comes after the last")
			}
		}
	}
	if done != 1 || t.done != 1 {
		m.rt.Fatalf("it ended %d times", done)
	}
}
