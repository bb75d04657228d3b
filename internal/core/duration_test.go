package core

import (
	"testing"
	"time"
)

func TestInWordsRoundsUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Millisecond: "1 second", 3 * time.Second: "3 seconds", 60 * time.Second: "60 seconds",
		2 * time.Minute: "2 minutes", 150 * time.Second: "3 minutes",
	} {
		if got := InWords(d); got != want {
			t.Errorf("%v is %q", d, got)
		}
	}
}
