package core_test

import (
	"testing"

	"carrel/internal/core"
)

func TestStorageLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		storage core.Storage
		more    int64
		want    bool
		left    int64
	}{
		{core.Storage{Used: 1 << 50}, 1 << 50, true, 0},
		{core.Storage{Limited: true, Limit: 10, Used: 4}, 6, true, 6},
		{core.Storage{Limited: true, Limit: 10, Used: 4}, 7, false, 6},
		{core.Storage{Limited: true, Limit: 10, Used: 14}, 0, false, 0},
		{core.Storage{Limited: true}, 0, true, 0},
	} {
		if got := tc.storage.Holds(tc.more); got != tc.want || tc.storage.Left() != tc.left {
			t.Errorf("%+v holds %d more: %v, %d left", tc.storage, tc.more, got, tc.storage.Left())
		}
	}
}

func TestBytesAreFormatted(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 bytes", 999: "999 bytes", 1000: "1.0 kB", 1_540_000: "1.5 MB", 2e9: "2.0 GB", 3e12: "3.0 TB", 5e15: "5000.0 TB",
	} {
		if got := core.Bytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
