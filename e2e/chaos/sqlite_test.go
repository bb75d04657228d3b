package chaos

import (
	"slices"
	"testing"
	"time"

	"carrel/internal/testkit"
)

func TestNothingIsLostWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, 3, "")
	end := s.begin(4)
	d := s.seed("kills")
	node := s.nodes[0]
	var back []time.Duration
	var kills []kill
	for i := range rounds(t, 10, 200) {
		pause(t, d.between(0, 500*time.Millisecond))
		if i%4 == 3 { // the other kills may hit a server that has just started
			await(t, "a turn runs", testkit.Patience, func() bool { return len(s.model.open(nodeName(0))) > 0 })
		}
		kills = append(kills, kill{at: time.Now(), orphans: s.model.open(nodeName(0))})
		node.Kill()
		started := time.Now()
		node.Start()
		back = append(back, time.Since(started))
	}
	end()
	s.verify(readSQLite(t, s))
	var resumed []time.Duration
	for _, k := range kills {
		if times := k.resumed(s.model); len(times) > 0 {
			resumed = append(resumed, slices.Min(times))
		}
	}
	// The times depend on the machine: on a slow one, the next kill comes before a turn goes on.
	t.Logf("after a kill the server answered in %v and went on with a turn in %v", spread(back), spread(resumed))
	if len(resumed) == 0 {
		t.Error("no restart went on with a turn")
	}
}

// kill is the kill of a node, with the turns that it was running and their attempts.
type kill struct {
	at      time.Time
	orphans map[string]int
}

// resumed returns the times from the kill until the orphaned turns continued. Cancelled turns are omitted.
func (k kill) resumed(m *model) (times []time.Duration) {
	for _, at := range m.takenOver(k.orphans) {
		times = append(times, at.Sub(k.at))
	}
	return times
}

// quantiles formats the median and the maximum.
type quantiles struct{ median, worst time.Duration }

func (q quantiles) String() string {
	return q.median.Round(time.Millisecond).String() + " (at worst " + q.worst.Round(time.Millisecond).String() + ")"
}

func spread(times []time.Duration) quantiles {
	if len(times) == 0 {
		return quantiles{}
	}
	slices.Sort(times)
	return quantiles{times[len(times)/2], times[len(times)-1]}
}
