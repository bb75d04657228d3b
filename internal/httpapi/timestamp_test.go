package httpapi

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimestampsAreUTCWithMilliseconds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(-62_135_596_800_000, 253_402_300_799_999).Draw(t, "ms"))
		at = at.In(time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600))
		if got, want := timestamp(at), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
