//go:build !unix

package format

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
