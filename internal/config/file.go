package config

import (
	"slices"
	"strings"
)

// parseFile reads `name = value` lines, a small part of TOML: # starts a comment, a value may stand in single or
// double quotes, and names may be written with - or _. There are no sections and no escapes.
func parseFile(path, text string, probs *Problems) map[string]string {
	values := map[string]string{}
	known := names()
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, ok := strings.Cut(line, "=")
		name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
		if !ok || name == "" {
			// The line is not repeated: it may hold half a secret.
			probs.add("%s line %d is not of the form name = value", path, n)
			continue
		}
		value, ok := parseValue(strings.TrimSpace(rest))
		_, twice := values[name]
		switch {
		case !ok:
			probs.add("%s line %d: %s has a quote that is not closed, or text after it", path, n, name)
		case !slices.Contains(known, name):
			probs.add("%s line %d: %s is not a setting%s", path, n, name, suggestion(name, known, ""))
		case twice:
			probs.add("%s line %d: %s is set twice; remove one", path, n, name)
		default:
			values[name] = value
		}
	}
	return values
}

// parseValue takes the quotes and the comment off a value, and reports whether it is well formed.
func parseValue(s string) (string, bool) {
	if s == "" {
		return "", true
	}
	if quote := s[0]; quote == '"' || quote == '\'' {
		value, after, closed := strings.Cut(s[1:], string(quote))
		after = strings.TrimSpace(after)
		return value, closed && (after == "" || after[0] == '#')
	}
	// Only a # after white space starts a comment, so that one inside a word needs no quotes.
	for i := range len(s) {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return strings.TrimSpace(s[:i]), true
		}
	}
	return s, true
}
