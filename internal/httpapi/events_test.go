package httpapi

import (
	"testing"
	"time"
)

// The documentation promises that a stream ends within a second after its credential was revoked.
func TestStreamsAreRecheckedEverySecond(t *testing.T) {
	t.Parallel()
	if recheckInterval > time.Second {
		t.Errorf("streams are rechecked every %v", recheckInterval)
	}
}
