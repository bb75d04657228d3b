//go:build !unix

package format

import "time"

// cpuTime is not available on this system.
func cpuTime() time.Duration { return 0 }
