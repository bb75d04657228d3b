package config

import (
	"fmt"
	"slices"
	"strings"

	"carrel/internal/core"
)

// unknownVariables returns warnings about CARREL_ variables that are not settings, which are usually typos. They are
// not errors, because other tools may use the same prefix.
func unknownVariables(environ []string) []string {
	// All but the first belong to the client commands.
	known := []string{envConfig, envPrefix + "SERVER", envPrefix + "KEY", envPrefix + "PROFILE"}
	for _, name := range names() {
		known = append(known, envName(name))
	}
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) {
			out = append(out, fmt.Sprintf("%s is not a setting and has no effect%s", name, suggestion(name, known, "")))
		}
	}
	slices.Sort(out)
	return out
}

// suggestion returns a hint with the most similar known word, or "" if none is similar.
func suggestion(wrong string, known []string, before string) string {
	best, distance := "", 1+len(wrong)/3
	for _, k := range known {
		if d := core.EditDistance(wrong, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", before, best)
}
