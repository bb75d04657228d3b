package core

import (
	"fmt"
	"math"
	"time"
)

// InWords formats a waiting time for a message, rounded up.
func InWords(d time.Duration) string {
	if d <= 90*time.Second {
		if s := int(math.Ceil(d.Seconds())); s != 1 {
			return fmt.Sprintf("%d seconds", s)
		}
		return "1 second"
	}
	return fmt.Sprintf("%d minutes", int(math.Ceil(d.Minutes())))
}
