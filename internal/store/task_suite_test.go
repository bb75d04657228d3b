package store_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
)

// runTaskSuite runs the suite of the task store.
func runTaskSuite(t *testing.T, open func(testing.TB) *store.DB) {
	t.Helper()
	// Node operations affect all tasks of a database, so each test has its own.
	for _, test := range append(taskTests, limitedTaskTests...) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(newFixture(t, open(t)))
		})
	}
}

// newTask returns an unsaved task of Ada's.
func (w *fixture) newTask(key, owner string) task.Task {
	return task.Task{
		ID: core.NewID("tsk"), Kind: "work", Key: key, UserID: w.ada.id, Input: []byte("in\x00put"), Owner: owner,
		State: task.StateQueued, RunAt: w.now, DeadlineAt: w.now.Add(time.Minute), CreatedAt: w.now,
	}
}

// insert stores a task.
func (w *fixture) insert(t task.Task) task.Task {
	w.t.Helper()
	stored, err := w.db.InsertTask(w.ctx, t)
	w.must(err)
	return stored
}

// join adds a node.
func (w *fixture) join(id string) {
	w.t.Helper()
	w.must(w.db.JoinNode(w.ctx, id, "test", time.Hour, false))
}

// wantErr fails the test unless err is this one.
func (w *fixture) wantErr(err, want error) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Errorf("got error %v, want %v", err, want)
	}
}

var taskTests = []test{
	{"TaskRoundTrips", func(w *fixture) {
		t := w.newTask("key", "")
		t.IdemKey, t.RequestHash = "idem", []byte("hash")
		stored := w.insert(t)
		w.same("new", stored.New, true)
		t.Number = 1
		got, err := w.db.Task(w.ctx, t.ID)
		w.must(err)
		w.same("task", got, t)
		again := w.newTask("other", "")
		again.IdemKey, again.RequestHash = "idem", []byte("hash")
		w.same("the same request", w.insert(again), t)
		again.RequestHash = []byte("other")
		_, err = w.db.InsertTask(w.ctx, again)
		w.wantKind(err, core.KindMismatch, "")
		again.UserID = w.bert.id
		w.same("another's", w.insert(again).New, true)
		none := w.newTask("", "")
		none.UserID = "usr_none"
		_, err = w.db.InsertTask(w.ctx, none)
		w.wantMissing(err, "user")
		_, err = w.db.Task(w.ctx, "none")
		w.wantMissing(err, "task")
	}},
	{"ConcurrentInsertsIntoOneKeyStartOneTask", func(w *fixture) {
		w.join("n")
		var running atomic.Int32
		var numbers sync.Map
		testkit.Concurrently(50, func(int) {
			t, err := w.db.InsertTask(w.ctx, w.newTask("key", "n"))
			if err != nil {
				w.t.Error(err)
			}
			if t.State == task.StateRunning {
				running.Add(1)
			}
			if _, twice := numbers.LoadOrStore(t.Number, true); twice || t.Number < 1 || t.Number > 50 {
				w.t.Errorf("number %d", t.Number)
			}
		})
		w.same("running", running.Load(), int32(1))
	}},
	{"ActiveTaskIsAlwaysFound", func(w *fixture) {
		w.join("n")
		w.insert(w.newTask("key", ""))
		var over atomic.Bool
		testkit.Concurrently(4, func(i int) {
			for i > 0 && !over.Load() {
				if _, err := w.db.ActiveTask(w.ctx, "key"); err != nil {
					w.t.Error(err)
					return
				}
			}
			if i > 0 {
				return
			}
			// One goroutine starts the task and returns it to the queue repeatedly.
			defer over.Store(true)
			for range 100 {
				got, _, err := w.db.ClaimTasks(w.ctx, "n", []string{"work"}, 1, w.now)
				if err != nil || len(got) != 1 {
					w.t.Error(got, err)
					return
				}
				if err := w.db.FinishTask(w.ctx, got[0].Fence(), task.RetryAt(w.now)); err != nil {
					w.t.Error(err)
					return
				}
			}
		})
	}},
	{"SweptNodesClaimNothing", func(w *fixture) {
		w.join("lost")
		w.insert(w.newTask("work", ""))
		w.limitedTask(w.ada.id, "import", w.now)
		_, err := w.db.RenewNode(w.ctx, "lost", -time.Second)
		w.must(err)
		_, err = w.db.SweepNodes(w.ctx)
		w.must(err)
		w.join("n")
		for _, node := range []string{"lost", "n"} {
			got, backlog, err := w.db.ClaimTasks(w.ctx, node, []string{"work"}, 4, w.now)
			w.must(err)
			limited, err := w.db.ClaimLimitedTasks(w.ctx, node, "import", 4, 3, w.now, w.now.Add(time.Hour))
			w.must(err)
			w.same("claimed by "+node, fmt.Sprint(len(got), len(limited), backlog), map[string]string{
				"lost": "0 0 true", "n": "1 1 true",
			}[node])
		}
	}},
	{"ConcurrentClaimsAssignATaskOnce", func(w *fixture) {
		for i := range 40 {
			w.insert(w.newTask(strconv.Itoa(i%20), ""))
		}
		for i := range 8 {
			w.join(strconv.Itoa(i))
		}
		var mu sync.Mutex
		owners := map[string]int{}
		testkit.Concurrently(8, func(i int) {
			for range 5 {
				got, _, err := w.db.ClaimTasks(w.ctx, strconv.Itoa(i), []string{"work"}, 4, w.now)
				if err != nil {
					w.t.Error(err)
				}
				mu.Lock()
				for _, t := range got {
					owners[t.ID]++
				}
				mu.Unlock()
			}
		})
		w.same("claimed", len(owners), 20)
		for id, n := range owners {
			w.same("owners of "+id, n, 1)
		}
		got, err := w.db.ActiveTask(w.ctx, "7")
		w.must(err)
		w.same("active", fmt.Sprint(got.State, got.Number), "running1")
		latest, err := w.db.LatestTask(w.ctx, "7")
		w.must(err)
		w.same("latest", fmt.Sprint(latest.State, latest.Number), "queued2")
		next, err := w.db.NextTask(w.ctx, "7", 1)
		w.must(err)
		w.same("next", next.ID, latest.ID)
		_, err = w.db.NextTask(w.ctx, "7", 2)
		w.wantMissing(err, "task")
	}},
	{"FenceRejectsALostOwner", func(w *fixture) {
		w.join("n")
		f := w.insert(w.newTask("key", "n")).Fence()
		entry := task.Entry{
			Steps:  []task.StepRecord{{N: 1, Kind: "k", State: task.StepStarted, StartedAt: w.now}},
			Events: []task.Event{{TaskID: f.TaskID, Seq: 1, Attempt: 1, Kind: "step", Payload: []byte("{}")}},
		}
		w.must(w.db.RecordTask(w.ctx, f, entry))
		w.must(w.db.LeaveNode(w.ctx, "n"))
		entry.Steps[0].State = task.StepFinished
		w.wantErr(w.db.RecordTask(w.ctx, f, entry), task.ErrLost)
		w.wantErr(w.db.RecordTask(w.ctx, f, task.Entry{Events: entry.Events}), task.ErrLost)
		w.wantErr(w.db.FinishTask(w.ctx, f, task.Outcome{State: task.StateComplete, At: w.now}), task.ErrLost)
		steps, err := w.db.TaskSteps(w.ctx, f.TaskID)
		w.must(err)
		w.same("step", steps[0].State, task.StepStarted)
	}},
	{"TasksAreDeletedWithTheirKey", func(w *fixture) {
		mine, other := w.newTask("key", ""), w.newTask("other", "")
		other.UserID = ""
		w.insert(mine)
		w.insert(other)
		w.must(w.db.DeleteTasks(w.ctx, "key"))
		_, err := w.db.Task(w.ctx, mine.ID)
		w.wantMissing(err, "task")
		_, err = w.db.ActiveTask(w.ctx, "key")
		w.wantMissing(err, "task")
		_, err = w.db.Task(w.ctx, other.ID)
		w.must(err)
	}},
	{"DeltasArePrunedADayAfterTheEnd", func(w *fixture) {
		w.join("n")
		f := w.insert(w.newTask("key", "n")).Fence()
		var events []task.Event
		for seq := range int64(20) {
			kind := task.EventDelta
			if seq == 3 {
				kind = "note"
			}
			events = append(events,
				task.Event{TaskID: f.TaskID, Number: 1, Seq: seq + 1, Attempt: 1, Kind: kind, Payload: []byte("{}")})
		}
		w.must(w.db.RecordTask(w.ctx, f, task.Entry{Events: events}))
		stored, err := w.db.TaskEvents(w.ctx, f.TaskID, 0, 100)
		w.must(err)
		w.same("events", stored, events)
		w.must(w.db.FinishTask(w.ctx, f, task.Outcome{State: task.StateComplete, At: w.now}))
		for _, at := range []struct {
			after    time.Duration
			pruned   int
			wantKind []string
		}{
			{24*time.Hour - time.Millisecond, 0, nil},
			{24 * time.Hour, 1, []string{"note", "done"}},
			{48 * time.Hour, 0, []string{"note", "done"}},
		} {
			n, err := w.db.PruneTasks(w.ctx, w.now.Add(at.after), 30*24*time.Hour, 10)
			w.must(err)
			w.same("pruned", n, at.pruned)
			left, err := w.db.TaskEvents(w.ctx, f.TaskID, 0, 100)
			w.must(err)
			if at.wantKind == nil {
				w.same("left", len(left), 21)
				continue
			}
			kinds := []string{}
			for _, e := range left {
				kinds = append(kinds, e.Kind)
			}
			w.same("left", kinds, at.wantKind)
		}
	}},
	{"ProgressOfTasksIsReported", func(w *fixture) {
		w.join("n")
		f := w.insert(w.newTask("key", "n")).Fence()
		second := w.insert(w.newTask("key", ""))
		w.must(w.db.FinishTask(w.ctx, f, task.Outcome{State: task.StateComplete, At: w.now}))
		marks, err := w.db.TaskProgress(w.ctx, []string{f.TaskID, second.ID, "none"})
		w.must(err)
		w.same("marks", marks, map[string]task.Progress{f.TaskID: {Ended: true, Seq: 1}, second.ID: {Queued: true}})
		keys, err := w.db.LatestTaskNumbers(w.ctx, []string{"key", "none"})
		w.must(err)
		w.same("keys", keys, map[string]int64{"key": 2})
	}},
	{"WaitingTasksAreCounted", func(w *fixture) {
		w.join("n")
		w.insert(w.newTask("key", "n"))
		w.insert(w.newTask("key", ""))
		counts, err := w.db.CountTasks(w.ctx, w.after(1500))
		w.must(err)
		waited := 1500 * time.Millisecond
		w.same("counts", counts, task.Counts{Queued: 1, Running: 1, Oldest: waited, Kinds: map[string]task.KindCounts{
			"work": {Queued: 1, Running: 1, OldestQueued: waited, OldestRunning: waited},
		}})
		ids, err := w.db.NodeTasks(w.ctx, "n")
		w.must(err)
		w.same("tasks of the node", len(ids), 1)
		queued, err := w.db.Tasks(w.ctx, task.StateQueued, 10)
		w.must(err)
		w.same("queued", len(queued), 1)
	}},
	{"TasksAreListedPageByPage", func(w *fixture) {
		var want, got []string
		user := w.ada.id
		for i := range 5 {
			t := w.newTask("", "")
			// Two tasks each are created in the same millisecond and ordered by id.
			t.ID, t.UserID, t.CreatedAt = fmt.Sprintf("tsk_%d_%s", i, user), user, w.after(60_000_000+i/2)
			w.insert(t)
			want = append([]string{t.ID}, want...)
		}
		page, err := w.db.Tasks(w.ctx, task.StateQueued, 2)
		for len(page) > 0 && page[0].UserID == user {
			w.must(err)
			for _, t := range page {
				if t.UserID == user {
					got = append(got, t.ID)
				}
			}
			last := page[len(page)-1]
			page, err = w.db.TasksBefore(w.ctx, "", last.CreatedAt, last.ID, 2)
		}
		w.must(err)
		w.same("listed", got, want)
	}},
	{"OldImportsArePrunedExceptTheLatestOfASource", func(w *fixture) {
		w.join("n")
		key := core.NewID("src")
		add := func(kind string, ended bool) task.Task {
			t := w.newTask(key, "n")
			t.Kind = kind
			stored, err := w.db.InsertTask(w.ctx, t)
			w.must(err)
			if ended {
				w.must(w.db.FinishTask(w.ctx, stored.Fence(), task.Outcome{State: task.StateComplete, At: w.now}))
			}
			return stored
		}
		first, other, second := add("import", true), add("turn", true), add("import", true)
		w.must(w.db.PruneImports(w.ctx, w.now))
		_, err := w.db.Task(w.ctx, first.ID)
		w.must(err)
		w.must(w.db.PruneImports(w.ctx, w.after(1)))
		_, err = w.db.Task(w.ctx, first.ID)
		w.wantMissing(err, "task")
		for _, t := range []task.Task{other, second} {
			_, err = w.db.Task(w.ctx, t.ID)
			w.must(err)
		}
		w.same("number of the next", add("import", false).Number, second.Number+1)
	}},
	{"HintsReachOtherNodes", func(w *fixture) {
		ctx, stop := context.WithCancel(w.ctx)
		defer stop()
		heard := make(chan task.Hint, 1000)
		ended := make(chan error, 1)
		go func() { ended <- w.db.ListenTasks(ctx, "me", func(h task.Hint) { heard <- h }) }()
		many := make([]task.Hint, 300)
		for i := range many {
			many[i] = task.Hint{Task: core.NewID("tsk"), Key: "a key", Seq: int64(i)}
		}
		many[7] = task.Hint{}
		// The listener connects in the background, and hears a probe when it has.
		probe := task.Hint{Task: "probe", Key: "a key"}
		for {
			w.must(w.db.NotifyTasks(w.ctx, "me", many[:1]))
			w.must(w.db.NotifyTasks(w.ctx, "you", []task.Hint{probe}))
			select {
			case err := <-ended:
				if err != nil {
					w.t.Errorf("listening: %v", err)
				}
				return // an engine without other nodes
			case <-heard:
				w.must(w.db.NotifyTasks(w.ctx, "you", many))
				for _, want := range many {
					got := <-heard
					for got == probe {
						got = <-heard
					}
					w.same("hint", got, want)
				}
				stop()
				if err := <-ended; err == nil {
					w.t.Error("listening ended without an error")
				}
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}},
}
