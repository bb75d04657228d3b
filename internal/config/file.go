package config

import (
	"slices"
	"strings"
)

// section holds the values below a heading of the settings file. The first section has no heading.
type section struct {
	heading string
	line    int
	values  map[string]string
}

// parseFile parses lines of the form `name = value`, a small subset of TOML: # starts a comment, values may be in
// single or double quotes without escapes, and names may be written with - or _. A heading [plan.NAME] starts a plan.
func parseFile(path, text string, probs *Problems) (values map[string]string, plans []Plan) {
	sections := []section{{values: map[string]string{}}}
	known := names()
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			sections = append(sections, section{heading: heading(line), line: n, values: map[string]string{}})
			known = planNames()
			continue
		}
		values := sections[len(sections)-1].values
		name, rest, ok := strings.Cut(line, "=")
		name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
		if !ok || name == "" {
			// The line is not quoted, because it may contain a secret.
			probs.add("%s line %d must have the form name = value", path, n)
			continue
		}
		value, ok := parseValue(strings.TrimSpace(rest))
		_, twice := values[name]
		switch {
		case !ok:
			probs.add("%s line %d: %s has an unclosed quote, or text after the closing quote", path, n, name)
		case !slices.Contains(known, name):
			probs.add("%s line %d: %s is not a setting%s", path, n, name, suggestion(name, known, ""))
		case twice:
			probs.add("%s line %d: %s is set twice; remove one", path, n, name)
		default:
			values[name] = value
		}
	}
	return sections[0].values, parsePlans(path, sections[1:], probs)
}

// heading returns the text of a heading without brackets and comment, or "" if it is malformed.
func heading(line string) string {
	name, after, closed := strings.Cut(line[1:], "]")
	if after = strings.TrimSpace(after); !closed || after != "" && after[0] != '#' {
		return ""
	}
	return strings.TrimSpace(name)
}

// parseValue removes quotes and comment from a value, and reports whether it is well-formed.
func parseValue(s string) (string, bool) {
	if s == "" {
		return "", true
	}
	if quote := s[0]; quote == '"' || quote == '\'' {
		value, after, closed := strings.Cut(s[1:], string(quote))
		after = strings.TrimSpace(after)
		return value, closed && (after == "" || after[0] == '#')
	}
	// A # starts a comment only after white space, so that a # inside a word needs no quotes.
	for i := range len(s) {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return strings.TrimSpace(s[:i]), true
		}
	}
	return s, true
}
