package testkit

import (
	"regexp"
	"strings"
)

// secretForms are what no line of a log may hold: our keys, codes and tokens, which have 38 characters after a prefix and
// an underscore; signed tokens; and the header that carries them.
var secretForms = []*regexp.Regexp{
	regexp.MustCompile(`\b[a-z]{2,12}_[0-9A-Za-z]{38}\b`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`),
	regexp.MustCompile(`(?i)\bbearer [0-9A-Za-z_.~+/-]{20,}`),
}

// leakIn returns the first line of a server's log that holds a secret, cut short, or nothing. What a command prints for the
// person who started it is no line of a log.
func leakIn(log string) string {
	for line := range strings.SplitSeq(log, "\n") {
		if !strings.Contains(line, "level=") && !strings.Contains(line, `"level":`) {
			continue
		}
		for _, form := range secretForms {
			if at := form.FindStringIndex(line); at != nil {
				return line[:at[0]+min(12, at[1]-at[0])] + "…"
			}
		}
	}
	return ""
}
