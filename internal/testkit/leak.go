package testkit

import (
	"regexp"
	"strings"
)

// secretForms match secrets that must not be logged: keys, codes and tokens, which have 38 characters after a prefix
// and an underscore; signed tokens; and bearer headers.
var secretForms = []*regexp.Regexp{
	regexp.MustCompile(`\b[a-z]{2,12}_[0-9A-Za-z]{38}\b`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`),
	regexp.MustCompile(`(?i)\bbearer [0-9A-Za-z_.~+/-]{20,}`),
}

// leakIn returns the first line of a server's log that contains a secret, truncated, or "". Lines without a level are
// output of commands for the user, not log lines.
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
