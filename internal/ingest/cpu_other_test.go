//go:build !unix

package ingest

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
