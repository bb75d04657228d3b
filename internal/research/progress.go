package research

import (
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/task"
)

// progressInterval is the default of Options.ProgressInterval.
const progressInterval = 5 * time.Second

// progress reports that a model call is alive: a slow model may take minutes for a call whose text is not shown.
type progress struct {
	words atomic.Int64
	stop  func()
}

// reportProgress repeats the event of a running step, with the time and the number of words so far in its label, until
// stop is called.
func (t *turn) reportProgress(n int, kind, label string) *progress {
	p := &progress{}
	done := make(chan struct{})
	var running sync.WaitGroup
	start := time.Now()
	running.Go(func() {
		ticker := time.NewTicker(t.options.ProgressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			text := label + " · " + strconv.Itoa(int(time.Since(start).Seconds())) + " s"
			if words := p.words.Load(); words > 0 {
				text += " · " + count(int(words), "word")
			}
			payload, _ := json.Marshal(struct { // strings always marshal
				N     int            `json:"n"`
				Kind  string         `json:"kind"`
				Label string         `json:"label"`
				State task.StepState `json:"state"`
			}{n, kind, text, task.StepStarted})
			t.run.Emit(task.EventStep, payload)
		}
	})
	p.stop = sync.OnceFunc(func() {
		close(done)
		running.Wait()
	})
	return p
}
