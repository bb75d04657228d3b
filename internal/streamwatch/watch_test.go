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

// log is what was looked at, as a test reads it.
type log struct {
	mu    sync.Mutex
	looks []string
}

func (l *log) look(key string, members []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(members)
	line := key + ":"
	for _, m := range members {
		line += " " + m
	}
	l.looks = append(l.looks, line)
}

// after lets rounds pass and returns the looks of that time.
func (l *log) after(rounds int) []string {
	time.Sleep(time.Duration(rounds) * every)
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	looks := l.looks
	l.looks = nil
	slices.Sort(looks)
	return looks
}

func TestARoundLooksOnceForEachKeyAtAllWhoJoinedUnderIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l log
		w := streamwatch.New(every, l.look)
		for key, members := range map[string][]string{"one": {"a", "b"}, "two": {"a"}} {
			for _, m := range members {
				w.Join(key, m)
				defer w.Leave(key, m)
			}
		}
		if got, want := l.after(2), []string{"one: a b", "one: a b", "two: a", "two: a"}; !slices.Equal(got, want) {
			t.Errorf("looked at %q", got)
		}
	})
}

func TestWhoHasLeftIsNotLookedAt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l log
		w := streamwatch.New(every, l.look)
		w.Join("key", "a")
		w.Join("key", "b")
		w.Leave("key", "a")
		w.Leave("key", "a")
		w.Leave("another", "b")
		if got := l.after(1); !slices.Equal(got, []string{"key: b"}) {
			t.Errorf("looked at %q", got)
		}
		w.Leave("key", "b")
		if got := l.after(3); len(got) != 0 {
			t.Errorf("with nobody there, looked at %q", got)
		}
		w.Join("key", "c")
		if got := l.after(1); !slices.Equal(got, []string{"key: c"}) {
			t.Errorf("after a time with nobody, looked at %q", got)
		}
		w.Leave("key", "c")
	})
}

func TestALookThatTakesLongDoesNotHoldUpThoseOfItsRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l log
		free := make(chan struct{})
		w := streamwatch.New(every, func(key string, members []string) {
			if key == "slow" {
				<-free
			}
			l.look(key, members)
		})
		for _, key := range []string{"slow", "one", "two", "three"} {
			w.Join(key, "a")
			defer w.Leave(key, "a")
		}
		if got := l.after(3); !slices.Equal(got, []string{"one: a", "three: a", "two: a"}) {
			t.Errorf("beside a slow one, looked at %q", got)
		}
		close(free)
		if got := l.after(1); len(got) != 5 {
			t.Errorf("after it, looked at %q", got)
		}
	})
}
