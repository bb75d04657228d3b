package store_test

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"carrel/internal/task"
	"carrel/internal/testkit"
)

// limitedTask adds a queued task of a kind with limits.
func (w *fixture) limitedTask(user, key string, runAt time.Time) task.Task {
	t := w.newTask(key, "")
	t.Kind, t.UserID, t.RunAt = "import", user, runAt
	return w.insert(t)
}

// claimLimited claims tasks and returns their keys in queue order.
func (w *fixture) claimLimited(n, perUser int) string {
	w.t.Helper()
	got, err := w.db.ClaimLimitedTasks(w.ctx, "n", "import", n, perUser, w.now, w.now.Add(time.Hour))
	w.must(err)
	var keys []string
	for _, t := range got {
		w.same("state and owner of "+t.Key, string(t.State)+" "+t.Owner, "running n")
		keys = append(keys, t.Key)
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

var limitedTaskTests = []test{
	{"LimitedKindKeepsTheLimitPerUser", func(w *fixture) {
		w.join("n")
		for i, key := range []string{"a1", "a2", "a3"} {
			w.limitedTask(w.ada.id, key, w.now.Add(time.Duration(i-10)*time.Second))
		}
		w.same("first", w.claimLimited(10, 2), "a1 a2")
		w.same("at the limit", w.claimLimited(10, 2), "")
		first, err := w.db.ActiveTask(w.ctx, "a1")
		w.must(err)
		w.same("deadline", first.DeadlineAt.Equal(w.now.Add(time.Hour)), true)
		w.must(w.db.FinishTask(w.ctx, first.Fence(), task.Outcome{State: task.StateComplete, At: w.now}))
		w.same("after one has ended", w.claimLimited(10, 2), "a3")
	}},
	{"LimitedKindAlternatesBetweenUsers", func(w *fixture) {
		w.join("n")
		// Ada submitted many tasks first; Bert must not wait for all of them.
		for i := range 5 {
			w.limitedTask(w.ada.id, "a"+strconv.Itoa(i), w.now.Add(time.Duration(i-60)*time.Second))
		}
		w.limitedTask(w.bert.id, "b0", w.now.Add(-time.Second))
		w.same("with room for two", w.claimLimited(2, 4), "a0 b0")
		w.same("with room for one more", w.claimLimited(1, 4), "a1")
		w.limitedTask(w.bert.id, "b1", w.now)
		w.same("the one with fewer running", w.claimLimited(1, 4), "b1")
	}},
	{"LimitedKindRespectsKeysKindsAndTimes", func(w *fixture) {
		w.join("n")
		w.limitedTask(w.ada.id, "k", w.now)
		w.limitedTask(w.ada.id, "k", w.now)
		w.limitedTask(w.ada.id, "later", w.now.Add(time.Minute))
		w.insert(w.newTask("another kind", ""))
		w.same("one of a key", w.claimLimited(10, 0), "k")
		w.same("and no other", w.claimLimited(10, 0), "")
	}},
	{"ConcurrentLimitedClaimsKeepTheLimit", func(w *fixture) {
		for i := range 20 {
			w.limitedTask(w.ada.id, "a"+strconv.Itoa(i), w.now)
		}
		for i := range 8 {
			w.join("n" + strconv.Itoa(i))
		}
		var claimed atomic.Int32
		testkit.Concurrently(8, func(i int) {
			for range 4 {
				got, err := w.db.ClaimLimitedTasks(w.ctx, "n"+strconv.Itoa(i), "import", 4, 3, w.now,
					w.now.Add(time.Hour))
				if err != nil {
					w.t.Error(err)
				}
				claimed.Add(int32(len(got)))
			}
		})
		w.same("claimed", claimed.Load(), int32(3))
	}},
	{"ConcurrentInsertsKeepTheLimitPerUser", func(w *fixture) {
		w.join("n")
		var running atomic.Int32
		testkit.Concurrently(8, func(i int) {
			t := w.newTask("k"+strconv.Itoa(i), "n")
			t.Kind, t.UserID, t.Start.MaxPerUser = "import", w.ada.id, 3
			t.Start.DeadlineAt = w.now.Add(time.Minute)
			stored, err := w.db.InsertTask(w.ctx, t)
			if err != nil {
				w.t.Error(err)
			}
			if stored.State == task.StateRunning {
				running.Add(1)
				w.same("deadline", stored.DeadlineAt.Equal(w.now.Add(time.Minute)), true)
			}
		})
		// A task whose slot was just taken is queued, and claimed next.
		claimed, err := w.db.ClaimLimitedTasks(w.ctx, "n", "import", 10, 3, w.now, w.now.Add(time.Hour))
		w.must(err)
		w.same("running", running.Load()+int32(len(claimed)), int32(3))
	}},
	{"NewTaskQueuesBehindTheWaitingTasksOfItsUser", func(w *fixture) {
		w.join("n")
		w.limitedTask(w.ada.id, "waiting", w.now.Add(-time.Second))
		t := w.newTask("new", "n")
		t.Kind, t.UserID, t.Start.MaxPerUser = "import", w.ada.id, 3
		w.same("state", w.insert(t).State, task.StateQueued)
		t = w.newTask("of another user", "n")
		t.Kind, t.UserID, t.Start.MaxPerUser = "import", w.bert.id, 3
		w.same("state of another user's", w.insert(t).State, task.StateRunning)
	}},
	{"QueuePositionsFollowTheOrderOfClaims", func(w *fixture) {
		w.join("n")
		var ids []string
		for i, user := range []string{w.ada.id, w.ada.id, w.ada.id, w.bert.id} {
			ids = append(ids, w.limitedTask(user, "k"+strconv.Itoa(i), w.now.Add(time.Duration(i-60)*time.Second)).ID)
		}
		later := w.limitedTask(w.bert.id, "later", w.now.Add(time.Minute))
		positions := func() []int {
			got, err := w.db.QueuePositions(w.ctx, []string{"import"}, append(ids, later.ID, "none"), w.now)
			w.must(err)
			out := make([]int, 0, len(ids))
			for _, id := range ids {
				if n, waits := got[id]; waits {
					out = append(out, n)
				}
			}
			w.same("waiting", len(got), len(out))
			return out
		}
		w.same("all waiting", positions(), []int{0, 2, 3, 1})
		w.same("claimed", w.claimLimited(1, 4), "k0")
		w.same("after the first", positions(), []int{1, 2, 0})
		other, err := w.db.QueuePositions(w.ctx, []string{"turn"}, ids, w.now)
		w.must(err)
		w.same("of another kind", len(other), 0)
	}},
}
