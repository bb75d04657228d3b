package streamwatch_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"carrel/internal/streamwatch"
)

const every = time.Second

// checkLog records the calls of check.
type checkLog struct {
	mu     sync.Mutex
	checks []string
}

func (l *checkLog) check(key string, members []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(members)
	line := key + ":"
	for _, m := range members {
		line += " " + m
	}
	l.checks = append(l.checks, line)
}

// after waits for a number of rounds and returns their checks.
func (l *checkLog) after(rounds int) []string {
	time.Sleep(time.Duration(rounds) * every)
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	checks := l.checks
	l.checks = nil
	slices.Sort(checks)
	return checks
}

func TestRoundChecksEachKeyOnceWithAllMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l checkLog
		w := streamwatch.New(every, l.check)
		for key, members := range map[string][]string{"one": {"a", "b"}, "two": {"a"}} {
			for _, m := range members {
				w.Join(key, m)
				defer w.Leave(key, m)
			}
		}
		if got, want := l.after(2), []string{"one: a b", "one: a b", "two: a", "two: a"}; !slices.Equal(got, want) {
			t.Errorf("checked %q", got)
		}
	})
}

func TestMembersThatLeftAreNotChecked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l checkLog
		w := streamwatch.New(every, l.check)
		w.Join("key", "a")
		w.Join("key", "b")
		w.Leave("key", "a")
		w.Leave("key", "a")
		w.Leave("another", "b")
		if got := l.after(1); !slices.Equal(got, []string{"key: b"}) {
			t.Errorf("checked %q", got)
		}
		w.Leave("key", "b")
		if got := l.after(3); len(got) != 0 {
			t.Errorf("without members, checked %q", got)
		}
		w.Join("key", "c")
		if got := l.after(1); !slices.Equal(got, []string{"key: c"}) {
			t.Errorf("after a time without members, checked %q", got)
		}
		w.Leave("key", "c")
	})
}

func TestSlowCheckDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l checkLog
		free := make(chan struct{})
		w := streamwatch.New(every, func(key string, members []string) {
			if key == "slow" {
				<-free
			}
			l.check(key, members)
		})
		for _, key := range []string{"slow", "one", "two", "three"} {
			w.Join(key, "a")
			defer w.Leave(key, "a")
		}
		if got := l.after(3); !slices.Equal(got, []string{"one: a", "three: a", "two: a"}) {
			t.Errorf("with a slow check, checked %q", got)
		}
		close(free)
		if got := l.after(1); len(got) != 5 {
			t.Errorf("after the slow check, checked %q", got)
		}
	})
}
