package config

import (
	"slices"
	"strings"
)

// section is the lines below a heading of the settings file, by name; that before the first heading has none.
type section struct {
	heading string
	line    int
	values  map[string]string
}

// parseFile reads `name = value` lines, a small part of TOML: # starts a comment, a value may stand in single or
// double quotes, and names may be written with - or _. A heading, [plan.NAME], starts a plan. There are no escapes.
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
	return sections[0].values, parsePlans(path, sections[1:], probs)
}

// heading takes the brackets and the comment off a heading; one that is not well formed is empty.
func heading(line string) string {
	name, after, closed := strings.Cut(line[1:], "]")
	if after = strings.TrimSpace(after); !closed || after != "" && after[0] != '#' {
		return ""
	}
	return strings.TrimSpace(name)
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
